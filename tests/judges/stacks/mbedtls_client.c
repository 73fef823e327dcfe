// A client of mbedTLS, which the judge compiles (tests/judges/stacks_judge.py): what it reads from
// stdin, in one piece, it says to the other side, and what that says goes to stdout until it
// closes.
//
// Usage: mbedtls_client PORT NAME CA CERT KEY
//   NAME     the DNS name that the other side's certificate must have
//   CERT KEY of the client; "-" is none
// stderr says the version that was agreed, or why there was none: mbedTLS names the alert that
// came. Exit code 1: it failed. Debian's mbedTLS 2.28 speaks no TLS 1.3, which is why a node
// refuses it.
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/debug.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytesMax = 16384 };

typedef struct {
  mbedtls_entropy_context entropy;
  mbedtls_ctr_drbg_context random;
  mbedtls_x509_crt authority;
  mbedtls_x509_crt certificate;
  mbedtls_pk_context key;
  mbedtls_ssl_config config;
  mbedtls_ssl_context ssl;
  mbedtls_net_context socket;
} Client;

static void check(int result, const char* what) {
  if (result != 0) {
    char text[200];
    mbedtls_strerror(result, text, sizeof text);
    fprintf(stderr, "%s: -0x%04x %s\n", what, (unsigned)-result, text);
    exit(1);
  }
}

// Only here does mbedTLS say which alert ended a handshake.
static void note(void* unused, int level, const char* file, int line, const char* text) {
  (void)unused, (void)level, (void)file, (void)line;
  if (strstr(text, "alert message") != NULL) {
    fputs(text, stderr);
  }
}

static void load(Client* client, char** words) {
  mbedtls_entropy_init(&client->entropy);
  mbedtls_ctr_drbg_init(&client->random);
  mbedtls_x509_crt_init(&client->authority);
  mbedtls_x509_crt_init(&client->certificate);
  mbedtls_pk_init(&client->key);
  mbedtls_ssl_config_init(&client->config);
  mbedtls_ssl_init(&client->ssl);
  mbedtls_net_init(&client->socket);
  check(mbedtls_ctr_drbg_seed(&client->random, mbedtls_entropy_func, &client->entropy, NULL, 0),
        "random");
  check(mbedtls_x509_crt_parse_file(&client->authority, words[3]), "CA");
  check(mbedtls_ssl_config_defaults(&client->config,
                                    MBEDTLS_SSL_IS_CLIENT,
                                    MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT),
        "defaults");
  if (strcmp(words[4], "-") != 0) {
    check(mbedtls_x509_crt_parse_file(&client->certificate, words[4]), "certificate");
    check(mbedtls_pk_parse_keyfile(&client->key, words[5], NULL), "key");
    check(mbedtls_ssl_conf_own_cert(&client->config, &client->certificate, &client->key), "pair");
  }
  mbedtls_ssl_conf_ca_chain(&client->config, &client->authority, NULL);
  mbedtls_ssl_conf_authmode(&client->config, MBEDTLS_SSL_VERIFY_REQUIRED);
  mbedtls_ssl_conf_rng(&client->config, mbedtls_ctr_drbg_random, &client->random);
  mbedtls_ssl_conf_dbg(&client->config, note, NULL);
  mbedtls_debug_set_threshold(1);
}

static int talk(mbedtls_ssl_context* ssl) {
  unsigned char bytes[kBytesMax];
  const ssize_t said = read(STDIN_FILENO, bytes, sizeof bytes);
  if (said <= 0 || mbedtls_ssl_write(ssl, bytes, (size_t)said) != (int)said) {
    return 1;
  }
  int got = 0;
  while ((got = mbedtls_ssl_read(ssl, bytes, sizeof bytes)) > 0) {
    if (write(STDOUT_FILENO, bytes, (size_t)got) != got) {
      return 2;
    }
  }
  return got == 0 || got == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ? 0 : 1;
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "--version") == 0) {
    puts(MBEDTLS_VERSION_STRING);
    return 0;
  }
  if (count != 6) {
    return 2;
  }
  static Client client;
  load(&client, words);
  check(mbedtls_net_connect(&client.socket, "127.0.0.1", words[1], MBEDTLS_NET_PROTO_TCP),
        "connect");
  check(mbedtls_ssl_setup(&client.ssl, &client.config), "setup");
  check(mbedtls_ssl_set_hostname(&client.ssl, words[2]), "name");
  mbedtls_ssl_set_bio(&client.ssl, &client.socket, mbedtls_net_send, mbedtls_net_recv, NULL);
  check(mbedtls_ssl_handshake(&client.ssl), "handshake");
  fprintf(stderr,
          "%s %s\n",
          mbedtls_ssl_get_version(&client.ssl),
          mbedtls_ssl_get_ciphersuite(&client.ssl));
  return talk(&client.ssl);
}
