package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Scratch is a bare repository of our own in a temporary folder, which sees the
// clone's objects and nothing else of it. It may be used concurrently; after
// Close every method fails with [ErrClosed].
type Scratch struct {
	// MaxBlob bounds, in bytes, what Blob reads; zero means no bound. To be
	// set before the first use.
	MaxBlob int64

	clone *Clone
	dir   string
	alias string // what messages call dir, if not so
	batch *batch

	mu     sync.Mutex
	closed bool
	open   []io.Closer // importers that still run
}

// scratchConfig is all the configuration that git sees in a scratch. Attributes
// and hooks have default places outside of the repository, hence the
// /dev/null; a pack must stay a pack, and nothing may tidy up meanwhile.
const scratchConfig = `[core]
	repositoryformatversion = %d
	bare = true
	attributesFile = /dev/null
	excludesFile = /dev/null
	hooksPath = /dev/null
	fsmonitor = false
[gc]
	auto = 0
[maintenance]
	auto = false
[fastimport]
	unpackLimit = 0
[pack]
	compression = 1
[extensions]
`

// Scratch makes one. Close it to remove its folder and end its processes.
func (c *Clone) Scratch(ctx context.Context) (*Scratch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bailiff-git-*")
	if err != nil {
		return nil, fmt.Errorf("no scratch folder (is TMPDIR writable and not full?): %w", err)
	}
	s := &Scratch{clone: c, dir: dir}
	s.batch = &batch{start: s.startBatch}
	if err := s.fill(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// fill writes by hand what "git init --bare" would, so that no template is.
func (s *Scratch) fill() error {
	shallow, err := readSmall(filepath.Join(s.clone.common, "shallow"))
	if err != nil {
		return err
	}
	version, extensions := 0, ""
	if s.clone.format != sha1Format {
		version, extensions = 1, "\tobjectFormat = "+s.clone.format.name+"\n"
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":                    "ref: refs/heads/unborn\n",
		"config":                  fmt.Sprintf(scratchConfig, version) + extensions,
		"objects/info/alternates": quote(s.clone.objects()) + "\n",
	}
	if len(shallow) > 0 {
		files["shallow"] = string(shallow)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the scratch's processes and removes its folder.
func (s *Scratch) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	s.batch.close()
	for _, c := range open {
		c.Close()
	}
	return os.RemoveAll(s.dir)
}

func (s *Scratch) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return nil
}

// call is a git process in the scratch, with the scratch's folder to run in,
// where no file of a repository lies around.
func (s *Scratch) call(stdin []byte, args ...string) call {
	c := call{dir: s.dir, env: []string{"GIT_DIR=" + s.dir}, args: args}
	if stdin != nil {
		c.stdin = bytes.NewReader(stdin)
	}
	return c
}

func (s *Scratch) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	out, _, err := s.run(ctx, s.call(stdin, args...))
	return out, err
}

// run runs a command in the scratch and answers with both of its outputs.
func (s *Scratch) run(ctx context.Context, c call) ([]byte, string, error) {
	if err := s.alive(); err != nil {
		return nil, "", err
	}
	out, words, err := s.clone.run.outputs(ctx, c)
	var exit *exitError
	if s.alias != "" && errors.As(err, &exit) {
		exit.stderr = strings.ReplaceAll(exit.stderr, s.dir, s.alias)
	}
	return out, words, err
}

// check refuses IDs that could not be of this repository, before one becomes an
// argument.
func (s *Scratch) check(ids ...ID) error {
	for _, id := range ids {
		if !id.Valid() || len(id) != s.clone.format.hexLen {
			return fmt.Errorf("%w: %q in a repository of %s", ErrBadID, string(id), s.clone.format.name)
		}
	}
	return nil
}
