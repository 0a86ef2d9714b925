package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MergeBase finds the best commit that a and b both come from. It answers false
// for histories that never met, and [ErrShallow] if they may have, before the
// point where the clone was cut off.
func (s *Scratch) MergeBase(ctx context.Context, a, b ID) (ID, bool, error) {
	all, err := s.mergeBases(ctx, a, b)
	if err != nil || len(all) == 0 {
		return "", false, err
	}
	return all[0], true, nil
}

// mergeBases finds all of them, the best first.
func (s *Scratch) mergeBases(ctx context.Context, a, b ID) ([]ID, error) {
	if err := s.check(a, b); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, nil, "merge-base", "--all", string(a), string(b))
	switch {
	case err == nil:
	case !exited(err, 1):
		return nil, s.blame(ctx, err, a, b)
	case s.clone.shallow:
		return nil, fmt.Errorf("%w: it does not reach back to where %s and %s parted; run: git fetch --unshallow", ErrShallow, a, b)
	}
	var ids []ID
	for name := range strings.FieldsSeq(string(out)) {
		id, err := ParseID(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Commits lists what any of include has and exclude has not, every parent
// before its children. A zero exclude excludes nothing.
func (s *Scratch) Commits(ctx context.Context, exclude ID, include ...ID) ([]Commit, error) {
	if len(include) == 0 {
		return nil, nil
	}
	ids := include
	input := new(strings.Builder)
	for _, id := range include {
		fmt.Fprintln(input, id)
	}
	if !exclude.IsZero() {
		ids = append(slices.Clone(include), exclude)
		fmt.Fprintf(input, "^%s\n", exclude)
	}
	if err := s.check(ids...); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, []byte(input.String()), "rev-list", "--topo-order", "--reverse", "--stdin")
	if err != nil {
		return nil, s.blame(ctx, err, ids...)
	}
	var commits []Commit
	for line := range strings.Lines(string(out)) {
		c, err := s.Commit(ctx, ID(strings.TrimSuffix(line, "\n")))
		if err != nil {
			return nil, err
		}
		commits = append(commits, c)
	}
	return commits, nil
}

// Commit reads one commit.
func (s *Scratch) Commit(ctx context.Context, id ID) (Commit, error) {
	o, err := s.object(ctx, id, "commit", 0)
	if err != nil {
		return Commit{}, err
	}
	return parseCommit(id, o.data)
}

// Blob reads the contents of a file, at most MaxBlob bytes if that is set.
func (s *Scratch) Blob(ctx context.Context, id ID) ([]byte, error) {
	o, err := s.object(ctx, id, "blob", s.MaxBlob)
	return o.data, err
}

// object reads an object of a known type. A limit of zero is none.
func (s *Scratch) object(ctx context.Context, id ID, kind string, limit int64) (object, error) {
	if err := s.check(id); err != nil {
		return object{}, err
	}
	if limit > 0 {
		o, err := s.batch.info(ctx, id)
		if err != nil {
			return object{}, s.lost(id, err)
		}
		if o.size > limit {
			return object{}, fmt.Errorf("%w: %s has %d bytes, more than %d", ErrTooLarge, id, o.size, limit)
		}
	}
	o, err := s.batch.contents(ctx, id)
	if err != nil {
		return object{}, s.lost(id, err)
	}
	if o.kind != kind {
		return object{}, fmt.Errorf("%w: %s is a %s, not a %s", ErrNotA, id, o.kind, kind)
	}
	return o, nil
}

// lost adds to ErrMissing what is missing and how to get it.
func (s *Scratch) lost(id ID, err error) error {
	switch {
	case !errors.Is(err, ErrMissing):
		return err
	case s.clone.Partial():
		return fmt.Errorf("%w: %s; the clone was made with a filter and is not fetched into from here; complete it with: git fetch --refetch --no-filter", ErrMissing, id)
	case s.clone.shallow:
		return fmt.Errorf("%w: %s; the clone is shallow; complete it with: git fetch --unshallow", ErrMissing, id)
	}
	return fmt.Errorf("%w: %s; the clone is damaged: see what git fsck says", ErrMissing, id)
}

// blame finds out whether a command failed because an object is missing: one
// that it was given, its tree, or one that its words name.
func (s *Scratch) blame(ctx context.Context, err error, ids ...ID) error {
	for _, id := range ids {
		if c, cause := s.Commit(ctx, id); cause == nil {
			ids = append(ids, c.Tree)
		}
	}
	var exit *exitError
	if errors.As(err, &exit) {
		for _, word := range strings.FieldsFunc(exit.stderr, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }) {
			if id := ID(word); s.check(id) == nil {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		if _, cause := s.batch.info(ctx, id); errors.Is(cause, ErrMissing) {
			return s.lost(id, cause)
		}
	}
	return err
}

// Diff compares two commits or trees, path by path, in the order of the paths'
// bytes. A zero from stands for the empty tree.
func (s *Scratch) Diff(ctx context.Context, from, to ID) ([]Change, error) {
	if from.IsZero() {
		from = s.clone.format.emptyTree
	}
	if err := s.check(from, to); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none", string(from), string(to))
	if err != nil {
		return nil, s.blame(ctx, err, from, to)
	}
	return parseDiff(string(out))
}

// kinds are diff-tree's status letters.
var kinds = map[string]Kind{"A": Added, "D": Deleted, "M": Modified, "T": TypeChanged}

// parseDiff reads ":100644 100644 <old> <new> M\0path\0" as often as it comes.
func parseDiff(out string) ([]Change, error) {
	var changes []Change
	for out != "" {
		meta, rest, ok := strings.Cut(out, "\x00")
		path, rest, okPath := strings.Cut(rest, "\x00")
		fields := strings.Fields(strings.TrimPrefix(meta, ":"))
		if !ok || !okPath || len(fields) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %q", meta)
		}
		out = rest
		oldMode, errOld := parseMode(fields[0])
		newMode, errNew := parseMode(fields[1])
		kind, known := kinds[fields[4]]
		if err := errors.Join(errOld, errNew); err != nil || !known {
			return nil, fmt.Errorf("git diff-tree: unexpected output %q (%v)", meta, err)
		}
		c := Change{Path: path, OldMode: oldMode, NewMode: newMode, Kind: kind}
		if oldMode != ModeNone {
			c.Old = ID(fields[2])
		}
		if newMode != ModeNone {
			c.New = ID(fields[3])
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Tree lists every file, symlink and submodule of a commit or tree, in the
// order of the paths' bytes. No contents are read.
func (s *Scratch) Tree(ctx context.Context, commit ID) ([]Entry, error) {
	if err := s.check(commit); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", string(commit))
	if err != nil {
		return nil, s.blame(ctx, err, commit)
	}
	return parseTree(string(out))
}

// parseTree reads "100644 blob <id>\tpath\0" as often as it comes.
func parseTree(out string) ([]Entry, error) {
	var entries []Entry
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if record == "" {
			continue
		}
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("git ls-tree: unexpected output %q", record)
		}
		mode, err := parseMode(fields[0])
		if err != nil {
			return nil, fmt.Errorf("git ls-tree: unexpected output %q (%w)", record, err)
		}
		entries = append(entries, Entry{Path: path, Mode: mode, ID: ID(fields[2])})
	}
	return entries, nil
}

func parseMode(s string) (Mode, error) {
	m, err := strconv.ParseUint(s, 8, 32)
	return Mode(m), err
}
