package git

import (
	"fmt"
	"strings"
)

// ID names an object: 40 (SHA-1) or 64 (SHA-256) hexadecimal digits in lower
// case. The empty ID and the one of zeros both mean "no object".
type ID string

// ParseID checks that s is an object name in full.
func ParseID(s string) (ID, error) {
	id := ID(s)
	if !id.Valid() {
		return "", fmt.Errorf("%w: %q is not an object name of 40 or 64 hexadecimal digits", ErrBadID, s)
	}
	return id, nil
}

// Valid says whether id is well formed. The empty ID is not; zeros are.
func (id ID) Valid() bool {
	if len(id) != sha1Format.hexLen && len(id) != sha256Format.hexLen {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// IsZero says whether id names no object.
func (id ID) IsZero() bool { return strings.Trim(string(id), "0") == "" }

// format is the hash function that a repository names its objects with.
type format struct {
	name      string // as git calls it
	hexLen    int
	emptyTree ID // git knows this one without having it stored
}

var (
	sha1Format   = format{"sha1", 40, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
	sha256Format = format{"sha256", 64, "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}
)

func (f format) zero() ID { return ID(strings.Repeat("0", f.hexLen)) }

// Mode is what a tree entry is, in git's own octal numbers.
type Mode uint32

// The modes that git writes. ModeNone stands for an absent side of a [Change].
const (
	ModeNone   Mode = 0
	ModeFile   Mode = 0o100644
	ModeExec   Mode = 0o100755
	ModeLink   Mode = 0o120000
	ModeModule Mode = 0o160000 // a submodule: the ID is a commit of another repository
	ModeTree   Mode = 0o040000
)

// IsRegular says whether the entry is a file with contents of its own, of
// whatever permissions (old trees hold 100664 too).
func (m Mode) IsRegular() bool { return m&0o170000 == 0o100000 }

func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Ref is a reference and the commit it leads to.
type Ref struct {
	// Name in full, such as refs/heads/main. Any bytes that the file system
	// let through, so never print it unquoted.
	Name string
	// Commit is where the name leads, through tags. Empty only for an unborn
	// branch, which only [Clone.Head] reports.
	Commit ID
	// Symref is the name that a symbolic reference points at, or empty.
	Symref string
}

// Kind is what a [Change] did to a path.
type Kind string

// The kinds of change. Renames are not looked for: they show as two changes.
const (
	Added       Kind = "added"
	Deleted     Kind = "deleted"
	Modified    Kind = "modified"    // contents, or only the executable bit
	TypeChanged Kind = "typechanged" // file, symlink or submodule became another of these
)

// Change is one path that differs between two trees. Trees themselves are not
// listed, only what is in them.
type Change struct {
	Path             string // slashes, any bytes but NUL
	OldMode, NewMode Mode   // ModeNone where the path is absent
	Old, New         ID     // empty where the path is absent
	Kind             Kind
}

// Entry is one file, symlink or submodule of a tree.
type Entry struct {
	Path string // from the root, slashes, any bytes but NUL
	Mode Mode
	ID   ID
}

// Date is a moment as a commit keeps it.
type Date struct {
	Unix int64  // seconds
	Zone string // as written, such as +0200; empty if the commit has none
}

// Signature says who, and when.
type Signature struct {
	Name, Email string
	When        Date
}

// Commit is a commit as it is stored. All text is as its writer left it, of any
// bytes and in any encoding.
type Commit struct {
	ID        ID
	Tree      ID
	Parents   []ID
	Author    Signature
	Committer Signature
	Message   string
	Encoding  string // of the message; empty means UTF-8
}
