package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// importRef is the reference that fast-import moves in the scratch. Nobody
// else sees it.
const importRef = "refs/bailiff/import"

// Importer writes blobs and commits through one "git fast-import" process.
// Nothing of it can be read before Close. It is not for concurrent use.
//
// The same input gives the same object names. Blobs sent one after the other
// are stored as differences between neighbours, so send the versions of one
// file in a row.
type Importer struct {
	scratch *Scratch
	ctx     context.Context // the process's; calls are as long-lived as it is
	cmd     *exec.Cmd
	words   *tail
	in      io.WriteCloser
	w       *bufio.Writer
	marks   string // file that the process writes at its end
	last    Mark
	err     error // of every call from now on

	once    sync.Once
	ids     map[Mark]ID
	outcome error // of the whole import
}

// Mark stands for an object that an [Importer] was given, until Close tells its
// ID. The zero Mark stands for none.
type Mark int

// CommitSpec is a commit to be.
type CommitSpec struct {
	// Parent is what the commit and its tree build on: a commit of this importer
	// (ParentMark) or one that is stored (Parent). With neither it is a root.
	Parent            ID
	ParentMark        Mark
	Author, Committer Signature
	Message           string // kept as it is, but for NULs, which become U+FFFD
	Encoding          string // of the message; empty means UTF-8
	Changes           []FileChange
}

// FileChange is what becomes of one path.
type FileChange struct {
	Path   string // see [CheckPath]
	Delete bool   // the path goes, as a whole if it is a folder
	Mode   Mode   // ModeTree puts a whole stored tree at Path
	Blob   Mark   // contents: given to this importer,
	ID     ID     // or stored already
}

// Import starts an importer. Its context ends the process.
func (s *Scratch) Import(ctx context.Context) (*Importer, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.dir, "marks-*")
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	cmd, words := s.clone.run.command(ctx, s.call(nil, "fast-import", "--quiet", "--done", "--force", "--date-format=raw", "--export-marks="+f.Name()))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("git fast-import: %w", err)
	}
	im := &Importer{scratch: s, ctx: ctx, cmd: cmd, words: words, in: in, w: bufio.NewWriterSize(in, 64<<10), marks: f.Name()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, closerFunc(im.abort))
	return im, nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// Blob stores contents.
func (im *Importer) Blob(data []byte) (Mark, error) {
	im.last++
	im.printf("blob\nmark :%d\ndata %d\n", im.last, len(data))
	im.write(data)
	im.printf("\n")
	return im.last, im.err
}

// Commit stores a commit. Changes apply as one set: their order means nothing,
// and no path may stand twice or below another that stays.
func (im *Importer) Commit(spec CommitSpec) (Mark, error) {
	changes, err := im.order(spec.Changes)
	if err != nil {
		return 0, err
	}
	from, err := im.parent(spec)
	if err != nil {
		return 0, err
	}
	im.last++
	if from == "" {
		im.printf("reset %s\n\n", importRef) // else its last commit were the parent
	}
	im.printf("commit %s\nmark :%d\n", importRef, im.last)
	im.printf("author %s\ncommitter %s\n", spec.Author.line(), spec.Committer.line())
	if e := safeEncoding(spec.Encoding); e != "" {
		im.printf("encoding %s\n", e)
	}
	message := strings.ReplaceAll(spec.Message, "\x00", "\uFFFD")
	im.printf("data %d\n%s\n", len(message), message)
	if from != "" {
		im.printf("from %s\n", from)
	}
	for _, c := range changes {
		if c.Delete {
			im.printf("D %s\n", quote(c.Path))
			continue
		}
		what := string(c.ID)
		if c.Blob != 0 {
			what = ":" + strconv.Itoa(int(c.Blob))
		}
		im.printf("M %s %s %s\n", c.Mode, what, quote(c.Path))
	}
	im.printf("\n")
	return im.last, im.err
}

// parent writes the parent as fast-import wants it; empty for a root.
func (im *Importer) parent(spec CommitSpec) (string, error) {
	switch {
	case spec.ParentMark != 0 && !spec.Parent.IsZero():
		return "", errors.New("a commit has two parents, one by mark and one by ID")
	case spec.ParentMark != 0:
		return ":" + strconv.Itoa(int(spec.ParentMark)), im.known(spec.ParentMark)
	case !spec.Parent.IsZero():
		return string(spec.Parent), im.scratch.check(spec.Parent)
	}
	return "", nil
}

func (im *Importer) known(m Mark) error {
	if m < 0 || m > im.last {
		return fmt.Errorf("mark %d was never given out", m)
	}
	return nil
}

// order checks changes and puts them so that each survives: fast-import applies
// them one by one, and a path that goes can be the folder of one that comes.
func (im *Importer) order(changes []FileChange) ([]FileChange, error) {
	paths := make(map[string]bool, len(changes)) // to whether it stays
	for _, c := range changes {
		if err := CheckPath(c.Path); err != nil {
			return nil, err
		}
		if _, twice := paths[c.Path]; twice {
			return nil, fmt.Errorf("%w: %q is changed twice", ErrBadPath, c.Path)
		}
		paths[c.Path] = !c.Delete
		if c.Delete {
			continue
		}
		if err := im.checkContents(c); err != nil {
			return nil, err
		}
	}
	for _, c := range changes {
		if c.Delete {
			continue
		}
		for i, r := range c.Path {
			if r == '/' && paths[c.Path[:i]] {
				return nil, fmt.Errorf("%w: %q is a file, and %q is in it", ErrBadPath, c.Path[:i], c.Path)
			}
		}
	}
	ordered := slices.Clone(changes)
	slices.SortStableFunc(ordered, func(a, b FileChange) int {
		if a.Delete != b.Delete {
			if a.Delete {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return ordered, nil
}

func (im *Importer) checkContents(c FileChange) error {
	switch c.Mode {
	case ModeFile, ModeExec, ModeLink:
	case ModeModule, ModeTree:
		if c.Blob != 0 {
			return fmt.Errorf("%q of mode %s has an ID, not contents", c.Path, c.Mode)
		}
	default:
		return fmt.Errorf("%q has mode %s, which git does not write", c.Path, c.Mode)
	}
	if (c.Blob != 0) == (c.ID != "") {
		return fmt.Errorf("%q needs either a mark or an ID", c.Path)
	}
	if c.Blob != 0 {
		return im.known(c.Blob)
	}
	return im.scratch.check(c.ID)
}

func (im *Importer) printf(form string, args ...any) {
	if im.err == nil {
		_, err := fmt.Fprintf(im.w, form, args...)
		im.failed(err)
	}
}

func (im *Importer) write(p []byte) {
	if im.err == nil {
		_, err := im.w.Write(p)
		im.failed(err)
	}
}

// failed ends the process when it can no longer be written to.
func (im *Importer) failed(err error) {
	if err != nil {
		im.err = err
		im.finish()
	}
}

// Close ends the import and tells the ID of each mark. It fails if anything of
// the import did. A second Close answers as the first.
func (im *Importer) Close() (map[Mark]ID, error) {
	im.printf("done\n")
	if im.err == nil {
		im.failed(im.w.Flush())
	}
	im.finish()
	return im.ids, im.outcome
}

// abort ends the process without its result.
func (im *Importer) abort() error {
	im.once.Do(func() {
		_ = im.cmd.Process.Kill()
		im.in.Close()
		_ = im.cmd.Wait()
		im.err, im.outcome = ErrClosed, ErrClosed
	})
	return nil
}

// finish waits for the process. What it said on its way out says more than the
// broken pipe that it left.
func (im *Importer) finish() {
	im.once.Do(func() {
		im.in.Close()
		im.outcome = explain(im.ctx, "fast-import", im.cmd.Wait(), im.words)
		if im.outcome == nil {
			im.outcome = im.err
		}
		if im.outcome == nil {
			im.outcome = im.ctx.Err() // git may have been done before it was killed
		}
		if im.outcome == nil {
			im.ids, im.outcome = readMarks(im.marks)
		}
		im.err = im.outcome
		if im.err == nil {
			im.err = ErrClosed
		}
	})
}

// readMarks reads ":1 <id>" lines.
func readMarks(path string) (map[Mark]ID, error) {
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	ids := map[Mark]ID{}
	for line := range strings.Lines(string(raw)) {
		mark, name, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), ":"), " ")
		n, err := strconv.Atoi(mark)
		if err != nil {
			return nil, fmt.Errorf("git fast-import: unexpected mark %q", line)
		}
		if ids[Mark(n)], err = ParseID(name); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// maxZone is the largest time zone, in hours and minutes, that fast-import and
// git fsck take.
const maxZone = 1400

// line writes a signature so that it can neither end early nor say more than it
// should. What was well formed stays as it was.
func (s Signature) line() string {
	unix, zone := max(s.When.Unix, 0), s.When.Zone
	if !validZone(zone) {
		zone = "+0000"
	}
	return fmt.Sprintf("%s <%s> %d %s", safeIdent(s.Name), safeIdent(s.Email), unix, zone)
}

func validZone(zone string) bool {
	if len(zone) != len("+0000") || zone[0] != '+' && zone[0] != '-' {
		return false
	}
	n, err := strconv.ParseUint(zone[1:], 10, 16)
	return err == nil && n <= maxZone
}

// safeIdent drops what delimits names and addresses, and control characters. It
// goes by bytes, since not every name is UTF-8.
func safeIdent(s string) string {
	safe := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c != 0x7f && c != '<' && c != '>' {
			safe = append(safe, c)
		}
	}
	return strings.Trim(string(safe), " ")
}

// safeEncoding lets only names of encodings through.
func safeEncoding(s string) string {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:+", r) {
			return ""
		}
	}
	return s
}
