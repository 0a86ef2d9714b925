package git

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// What can be wrong, to be found with errors.Is. The error that carries one of
// these names the folder, object or reference, and says what to do.
var (
	ErrNoGit         = errors.New("git is not installed")
	ErrGitTooOld     = errors.New("git is too old")
	ErrNotRepository = errors.New("not a git repository")
	ErrUnsafeOwner   = errors.New("the repository belongs to another user")
	// ErrShallow: the histories may well meet, but not in what the clone has.
	ErrShallow = errors.New("the clone is shallow")
	// ErrMissing: an object is named but not there: a partial clone, or damage.
	ErrMissing = errors.New("object is missing")
	// ErrNotA: an object is there, but of another type than was asked for.
	ErrNotA = errors.New("object has another type")
	// ErrTooLarge: an object exceeds the caller's limit.
	ErrTooLarge  = errors.New("object is too large")
	ErrCorrupt   = errors.New("object is damaged")
	ErrUnrelated = errors.New("histories have no commit in common")
	ErrBadID     = errors.New("bad object name")
	ErrBadRef    = errors.New("bad reference name")
	ErrBadPath   = errors.New("bad path")
	// ErrRefMoved: see [RefMovedError].
	ErrRefMoved = errors.New("reference is not where it was expected")
	// ErrRefBlocked: see [RefBlockedError].
	ErrRefBlocked = errors.New("reference name is blocked by another one")
	// ErrRefLocked: another process is writing the reference.
	ErrRefLocked = errors.New("reference is locked")
	ErrClosed    = errors.New("scratch repository is closed")
)

// RefMovedError says that a reference was not at the commit at which the caller
// had seen it, so it was left alone.
type RefMovedError struct {
	Name       string
	Want, Have ID // empty: no such reference
}

func (e *RefMovedError) Error() string {
	return fmt.Sprintf("%q is at %s, not at %s: somebody changed it meanwhile, and nothing was written; run again", e.Name, orNothing(e.Have), orNothing(e.Want))
}

// Is makes errors.Is(err, ErrRefMoved) hold.
func (e *RefMovedError) Is(target error) bool { return target == ErrRefMoved }

func orNothing(id ID) string {
	if id.IsZero() {
		return "nothing"
	}
	return string(id)
}

// RefBlockedError says that a reference cannot exist beside another one,
// because one's name would have to be both a file and a folder.
type RefBlockedError struct {
	Name string // that was to be written
	By   string // that is there
}

func (e *RefBlockedError) Error() string {
	return fmt.Sprintf("%q cannot be written while %q exists: git cannot keep both names; delete or rename that branch, or choose another name", e.Name, e.By)
}

// Is makes errors.Is(err, ErrRefBlocked) hold.
func (e *RefBlockedError) Is(target error) bool { return target == ErrRefBlocked }

// exitError is a git process that failed.
type exitError struct {
	verb   string // rev-parse, ...
	code   int    // -1: killed
	stderr string
}

func (e *exitError) Error() string {
	words := printable(strings.TrimSpace(e.stderr))
	if words == "" {
		words = "no message"
	}
	return fmt.Sprintf("git %s failed with exit code %d: %s", e.verb, e.code, words)
}

// exited says whether err is a git process that ended with the code.
func exited(err error, code int) bool {
	var e *exitError
	return errors.As(err, &e) && e.code == code
}

// said says whether err is a git process that ended with words on its standard
// error that contain any of the phrases. Git runs in the C locale for this.
func said(err error, phrases ...string) bool {
	var e *exitError
	if !errors.As(err, &e) {
		return false
	}
	for _, p := range phrases {
		if strings.Contains(e.stderr, p) {
			return true
		}
	}
	return false
}

// printable makes text of unknown origin fit for a terminal or a log.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r): // controls, and what turns the direction of text
			return '\uFFFD'
		}
		return r
	}, s)
}
