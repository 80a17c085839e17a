package open

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// openShards opens the shards that the file of a shards URL lists.
func openShards(ctx context.Context, s *settings) (checkpoint.Saver, error) {
	all, err := listShards(s)
	if err != nil {
		return nil, err
	}
	return opened(shards.Open(ctx, all...))
}

// Shards returns the list in the file of a shards: URL, for shards.Announce. It opens no saver.
// Its errors are those of Saver.
func Shards(rawURL string) ([]shards.Shard, error) {
	s, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if s.u.Scheme != shardsScheme {
		return nil, s.bad("want a list of shards, such as shards:///etc/app/shards")
	}
	return listShards(s)
}

// listShards returns the list in the file of a shards URL.
func listShards(s *settings) ([]shards.Shard, error) {
	path := s.path()
	if err := s.end(); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	all, err := readShards(file)
	if err != nil {
		return nil, s.bad(err.Error())
	}
	return all, nil
}

// readShards reads a list of shards. Its errors never quote a line, which can contain a password.
func readShards(file []byte) (all []shards.Shard, err error) {
	lines := bufio.NewScanner(bytes.NewReader(file))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		sh := shards.Shard{Name: words[0], Weight: 1}
		if len(words) == 3 {
			if sh.Weight, err = strconv.Atoi(words[1]); err != nil {
				return nil, fmt.Errorf("line %d: the weight is not a number; want a name, a weight and a URL", n)
			}
			if sh.Weight == 0 {
				sh.Weight = shards.Drained
			}
		}
		if len(words) < 2 || len(words) > 3 {
			return nil, fmt.Errorf("line %d has %d words; want a name, a URL, and a weight between them if it is not 1", n, len(words))
		}
		rawURL := words[len(words)-1]
		if err := checkShard(rawURL); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		sh.Open = func(ctx context.Context) (checkpoint.Saver, error) { return Saver(ctx, rawURL) }
		all = append(all, sh)
	}
	return all, lines.Err()
}

// checkShard returns the error of a URL that cannot be that of a shard, whether or not its server
// answers.
func checkShard(rawURL string) error {
	s, err := parse(rawURL)
	if err != nil {
		return err
	}
	if s.u.Scheme == shardsScheme {
		return s.bad("a shard is a list of shards; list them in one file")
	}
	_, err = s.scheme()
	return err
}

// shardsScheme is the scheme of a list of shards.
const shardsScheme = "shards"
