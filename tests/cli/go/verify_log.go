// Verifies a log of gcoord with Go's packages for transparency logs and no code of gcoord's: the
// signature of its checkpoint (sumdb/note), its tiles up to the checkpoint's root, every record, and
// proofs of inclusion and of consistency (sumdb/tlog).
//
// usage: verify_log LEDGER LOG KEY
// LEDGER is http://HOST:PORT or a directory, LOG "" or shard/N, KEY a verifier key.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8
const tileWidth = 1 << tileHeight

// Files of one log.
type files struct {
	ledger, log string
}

func (f files) read(name string) ([]byte, error) {
	if !strings.HasPrefix(f.ledger, "http://") {
		return os.ReadFile(path.Join(f.ledger, f.log, name))
	}
	answer, err := http.Get(f.ledger + "/" + path.Join(f.log, name))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", name, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

// tlog.TileReader. Go's paths name the height of tiles, those of tlog-tiles do not.
type tiles struct{ files }

func (t tiles) Height() int { return tileHeight }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var read [][]byte
	for _, tile := range wanted {
		name := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
		data, err := t.read(name)
		if err != nil {
			return nil, err
		}
		read = append(read, data)
	}
	return read, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// The tree that a checkpoint signed by the key is of.
func openTree(f files, key string) (tlog.Tree, error) {
	var tree tlog.Tree
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tree, err
	}
	message, err := f.read("checkpoint")
	if err != nil {
		return tree, err
	}
	opened, err := note.Open(message, note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || !strings.HasSuffix(lines[0], f.log) {
		return tree, errors.New("this is another log's checkpoint: " + lines[0])
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return tree, errors.New("the root is none")
	}
	copy(tree.Hash[:], root)
	return tree, nil
}

// The entries of bundle `index` of a log of `size` entries.
func readBundle(f files, index, size int64) ([][]byte, error) {
	tile := tlog.Tile{H: tileHeight, L: 0, N: index, W: tileWidth}
	if left := size - index*tileWidth; left < tileWidth {
		tile.W = int(left)
	}
	name := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/0/", tileHeight), "tile/entries/", 1)
	data, err := f.read(name)
	if err != nil {
		return nil, err
	}
	var entries [][]byte
	for len(data) >= 2 {
		length := int(binary.BigEndian.Uint16(data))
		if len(data) < 2+length {
			return nil, errors.New(name + " is cut")
		}
		entries = append(entries, data[2:2+length])
		data = data[2+length:]
	}
	if len(data) != 0 || len(entries) != tile.W {
		return nil, fmt.Errorf("%s has %d entries", name, len(entries))
	}
	return entries, nil
}

// That a record is in the tree, and that the tree before it is the beginning of this one.
func checkProofs(tree tlog.Tree, hashes tlog.HashReader, index int64, record []byte) error {
	proof, err := tlog.ProveRecord(tree.N, index, hashes)
	if err != nil {
		return err
	}
	if err = tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(record)); err != nil {
		return fmt.Errorf("record %d: %w", index, err)
	}
	older := index + 1
	root, err := tlog.TreeHash(older, hashes)
	if err != nil {
		return err
	}
	growth, err := tlog.ProveTree(tree.N, older, hashes)
	if err != nil {
		return err
	}
	return tlog.CheckTree(growth, tree.N, tree.Hash, older, root)
}

func verify(f files, key string) (int64, error) {
	tree, err := openTree(f, key)
	if err != nil {
		return 0, err
	}
	hashes := tlog.TileHashReader(tree, tiles{f})
	for bundle := int64(0); bundle*tileWidth < tree.N; bundle++ {
		entries, err := readBundle(f, bundle, tree.N)
		if err != nil {
			return 0, err
		}
		for k, entry := range entries {
			if err := checkProofs(tree, hashes, bundle*tileWidth+int64(k), entry); err != nil {
				return 0, err
			}
		}
	}
	return tree.N, nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: verify_log LEDGER LOG KEY")
		os.Exit(2)
	}
	records, err := verify(files{os.Args[1], os.Args[2]}, os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify_log:", err)
		os.Exit(1)
	}
	fmt.Println("verified", records)
}
