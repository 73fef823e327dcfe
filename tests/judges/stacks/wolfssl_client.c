// A client of wolfSSL: what it reads from stdin, in one piece, it says to the node; what the node
// says goes to stdout, until the node closes. The judge compiles it (tests/judges/stacks_judge.py).
//
// Usage: wolfssl_client PORT NAME CA CERT KEY VERSION
//   NAME     the DNS name that the node's certificate must have
//   CERT KEY of the client; "-" is none
//   VERSION  12 or 13: the only version of TLS that it offers
// stderr says the version that was agreed, and the alert that ended it. Exit code 1: it failed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wolfssl/options.h>
#include <wolfssl/ssl.h>
#include <wolfssl/version.h>

enum { kBytesMax = 16384 };

static int fail(WOLFSSL* ssl, const char* what, int result) {
  WOLFSSL_ALERT_HISTORY history;
  char text[WOLFSSL_MAX_ERROR_SZ];
  const int error = wolfSSL_get_error(ssl, result);
  wolfSSL_get_alert_history(ssl, &history);
  fprintf(stderr,
          "%s: %s; alert %d\n",
          what,
          wolfSSL_ERR_error_string((unsigned long)error, text),
          history.last_rx.code);
  return 1;
}

static WOLFSSL_CTX* context_of(char** words) {
  const int only_old = strcmp(words[6], "12") == 0;
  WOLFSSL_CTX* context =
      wolfSSL_CTX_new(only_old ? wolfTLSv1_2_client_method() : wolfTLSv1_3_client_method());
  int good = wolfSSL_CTX_load_verify_locations(context, words[3], NULL) == WOLFSSL_SUCCESS;
  if (strcmp(words[4], "-") != 0) {
    good =
        good && wolfSSL_CTX_use_certificate_chain_file(context, words[4]) == WOLFSSL_SUCCESS &&
        wolfSSL_CTX_use_PrivateKey_file(context, words[5], WOLFSSL_FILETYPE_PEM) == WOLFSSL_SUCCESS;
  }
  if (!good) {
    fprintf(stderr, "a file cannot be used\n");
    exit(2);
  }
  wolfSSL_CTX_set_verify(context, WOLFSSL_VERIFY_PEER, NULL);
  return context;
}

static int connected(const char* port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((unsigned short)atoi(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (const struct sockaddr*)&to, sizeof to) != 0) {
    perror("connect");
    exit(2);
  }
  return fd;
}

static int talk(WOLFSSL* ssl) {
  char bytes[kBytesMax];
  const ssize_t said = read(STDIN_FILENO, bytes, sizeof bytes);
  int result = wolfSSL_write(ssl, bytes, said > 0 ? (int)said : 0);
  if (result <= 0) {
    return fail(ssl, "write", result);
  }
  while ((result = wolfSSL_read(ssl, bytes, sizeof bytes)) > 0) {
    if (write(STDOUT_FILENO, bytes, (size_t)result) != result) {
      return 2;
    }
  }
  return wolfSSL_get_error(ssl, result) == WOLFSSL_ERROR_ZERO_RETURN ? 0
                                                                     : fail(ssl, "read", result);
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "--version") == 0) {
    puts(LIBWOLFSSL_VERSION_STRING);
    return 0;
  }
  if (count != 7) {
    return 2;
  }
  wolfSSL_Init();
  WOLFSSL* ssl = wolfSSL_new(context_of(words));
  wolfSSL_check_domain_name(ssl, words[2]);
  wolfSSL_set_fd(ssl, connected(words[1]));
  const int result = wolfSSL_connect(ssl);
  if (result != WOLFSSL_SUCCESS) {
    return fail(ssl, "handshake", result);
  }
  fprintf(stderr, "%s %s\n", wolfSSL_get_version(ssl), wolfSSL_get_cipher(ssl));
  return talk(ssl);
}
