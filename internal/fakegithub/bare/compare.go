package bare

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// Comparison is what a head has that a base has not. It is made once for each pair.
type Comparison struct {
	MergeBase git.ID // empty for unrelated histories
	Ahead     []git.Commit
	Behind    int

	repo       *Repo
	base, head git.ID

	mu         sync.Mutex // guards what follows
	files      []File
	filesKnown bool
	merged     git.ID // tree
	mergeable  bool
	mergeKnown bool
}

// File is one path that a head changed.
type File struct {
	Path, OldPath string // OldPath if it was renamed
	// Status is GitHub's word: added, removed, modified, renamed or changed.
	Status               string
	ID                   git.ID // of the blob, the old one if it was removed
	Additions, Deletions int
	Patch                string // hunks only; empty for a binary file
}

// Compare compares two commits as GitHub does: from where their histories meet.
func (r *Repo) Compare(ctx context.Context, base, head git.ID) (*Comparison, error) {
	key := [2]git.ID{base, head}
	r.mu.Lock()
	known := r.compare[key]
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	s, err := r.reader(ctx)
	if err != nil {
		return nil, err
	}
	c := &Comparison{repo: r, base: base, head: head}
	meet, ok, err := s.MergeBase(ctx, base, head)
	if err != nil {
		return nil, absent(err)
	}
	if ok {
		c.MergeBase = meet
	}
	if c.Ahead, err = s.Commits(ctx, base, head); err != nil {
		return nil, err
	}
	if meet != base {
		out, err := r.git(ctx, nil, "rev-list", "--count", string(base), "^"+string(head))
		if err != nil {
			return nil, err
		}
		if c.Behind, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	r.compare[key] = c
	r.mu.Unlock()
	return c, nil
}

// Files lists what the head changed since the histories met.
func (c *Comparison) Files(ctx context.Context) ([]File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.filesKnown {
		return c.files, nil
	}
	from := c.MergeBase
	if from == "" {
		from = c.base
	}
	files, err := c.repo.Diff(ctx, from, c.head)
	if err != nil {
		return nil, err
	}
	if err := c.repo.patches(ctx, from, c.head, files); err != nil {
		return nil, err
	}
	c.files, c.filesKnown = files, true
	return files, nil
}

// Merge tells the tree of a merge of both, and whether it has no conflicts.
func (c *Comparison) Merge(ctx context.Context) (tree git.ID, clean bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mergeKnown {
		return c.merged, c.mergeable, nil
	}
	if c.MergeBase != "" {
		out, code, err := c.repo.run(ctx, nil, nil, "merge-tree", "--write-tree", "-z", "--no-messages", "--name-only", string(c.base), string(c.head))
		if err != nil && code != 1 {
			return "", false, err
		}
		name, _, _ := strings.Cut(string(out), "\x00")
		if c.merged, err = git.ParseID(name); err != nil {
			return "", false, err
		}
		c.mergeable = code == 0
	}
	c.mergeKnown = true
	return c.merged, c.mergeable, nil
}

// Diff lists the files that differ between two commits or trees, with renames found
// and without patches.
func (r *Repo) Diff(ctx context.Context, from, to git.ID) ([]File, error) {
	out, err := r.git(ctx, nil, "diff-tree", "-r", "-z", "--raw", "--numstat", "--find-renames",
		"--no-ext-diff", "--no-textconv", "--full-index", "--end-of-options", string(from), string(to))
	if err != nil {
		return nil, err
	}
	return parseDiff(string(out))
}

var statuses = map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'T': "changed"}

// parseDiff reads the raw records, then the counts, of diff-tree -z.
func parseDiff(out string) ([]File, error) {
	var files []File
	counted := 0
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	next := func() (s string, ok bool) {
		if len(fields) == 0 {
			return "", false
		}
		s, fields = fields[0], fields[1:]
		return s, true
	}
	for {
		record, ok := next()
		if !ok || record == "" && len(fields) == 0 {
			return files, nil
		}
		if meta, raw := strings.CutPrefix(record, ":"); raw {
			parts := strings.Fields(meta)
			if len(parts) != 5 {
				return nil, fmt.Errorf("diff-tree answers %q", record)
			}
			f := File{Status: statuses[parts[4][0]], ID: git.ID(parts[3])}
			f.Path, _ = next()
			switch parts[4][0] {
			case 'R':
				f.OldPath = f.Path
				f.Path, _ = next()
			case 'D':
				f.ID = git.ID(parts[2])
			}
			files = append(files, f)
			continue
		}
		counts := strings.SplitN(record, "\t", 3)
		if len(counts) != 3 || counted == len(files) {
			return nil, fmt.Errorf("diff-tree answers %q", record)
		}
		if counts[2] == "" { // renamed: both names follow
			next()
			next()
		}
		// "-" for binary files counts as none.
		files[counted].Additions, _ = strconv.Atoi(counts[0])
		files[counted].Deletions, _ = strconv.Atoi(counts[1])
		counted++
	}
}

// maxPatch is about where GitHub stops showing a file's patch, in bytes.
const maxPatch = 1 << 20

// patches fills in the files' patches. Git prints them in the order of the files; a
// file that became a symlink, or the other way round, has two.
func (r *Repo) patches(ctx context.Context, from, to git.ID, files []File) error {
	out, err := r.git(ctx, nil, "diff-tree", "-r", "-p", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--end-of-options", string(from), string(to))
	if err != nil {
		return err
	}
	const start = "diff --git "
	sections := strings.Split("\n"+string(out), "\n"+start)[1:]
	for i := range files {
		if len(sections) == 0 {
			return fmt.Errorf("diff-tree printed fewer patches than files")
		}
		section := sections[0]
		if sections = sections[1:]; files[i].Status == "changed" && len(sections) > 0 {
			sections = sections[1:]
			continue
		}
		if at := strings.Index(section, "\n@@ "); at >= 0 && len(section) < maxPatch {
			files[i].Patch = strings.TrimSuffix(strings.ToValidUTF8(section[at+1:], "\uFFFD"), "\n")
		}
	}
	return nil
}

// Touched says whether two commits differ anywhere below a folder. A zero from stands
// for nothing.
func (r *Repo) Touched(ctx context.Context, from, to git.ID, folder string) (bool, error) {
	if from.IsZero() {
		_, err := r.Find(ctx, to, folder)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	_, code, err := r.run(ctx, nil, nil, "diff-tree", "-r", "--quiet", string(from), string(to), "--", ":(literal)"+folder)
	if code == 1 {
		return true, nil
	}
	return false, err
}
