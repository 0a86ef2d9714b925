package lockfile

import (
	"fmt"
	"strings"
)

// Code names a kind of problem. The set is closed; docs/reason-codes.md
// explains each to users.
type Code string

// What a check can find.
const (
	Unparsable  Code = "unparsable"   // the file cannot be read as what it is
	Duplicate   Code = "duplicate"    // an entry stands twice
	Missing     Code = "missing"      // a needed package is not locked
	Unmet       Code = "unmet"        // the locked version does not satisfy the requirement
	PeerUnmet   Code = "peer_unmet"   // a peer is there in a version that its dependent refuses
	OutOfSync   Code = "out_of_sync"  // lockfile and manifest disagree
	Orphan      Code = "orphan"       // nothing needs the entry
	BelowBase   Code = "below_base"   // older than in the base
	NotIncluded Code = "not_included" // an update that was merged is not in the result
	Ambiguous   Code = "ambiguous"    // a reference fits two entries
	AskTool     Code = "needs_tool"   // only the package manager can say
)

// A Problem is something wrong with a file, with its evidence.
type Problem struct {
	Code Code
	Path string
	Line int // 1-based; 0 when unknown
	// By is the dependent, as name@version; empty for the project itself.
	By string
	// Name and Req are what it needs.
	Name, Req string
	// Have is the version that is there; empty when none is.
	Have string
	// Key is the node concerned.
	Key string
	// Detail is a sentence for what the fields above cannot say.
	Detail string
	// Soft problems are tolerated by the ecosystem's own tools when a head has
	// them too: an unmet peer, an orphan.
	Soft bool
}

// ID identifies a problem over versions of a file: the same thing wrong in the
// same way. Where a need is not met, the versions do not count: a package that
// asked for something else before is no worse when either of the two is bumped.
func (p Problem) ID() string {
	switch p.Code {
	case PeerUnmet, Unmet, Missing:
		p.Have = ""
		if at := strings.LastIndexByte(p.By, '@'); at > 0 {
			p.By = p.By[:at]
		}
	}
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s", p.Code, p.Path, p.By, p.Name, p.Req, p.Have, p.Detail)
}

// String is one line for people: what, where, and the evidence.
func (p Problem) String() string {
	where := p.Path
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.Path, p.Line)
	}
	by := p.By
	if by == "" {
		by = "the project"
	}
	what := p.Detail
	switch {
	case what != "":
	case p.Code == NotIncluded && p.Have != "":
		what = fmt.Sprintf("%s@%s would not arrive: %s is what the others need", p.Name, p.Req, p.Have)
	case p.Code == NotIncluded:
		what = fmt.Sprintf("%s@%s would not arrive", p.Name, p.Req)
	case p.Code == BelowBase:
		what = fmt.Sprintf("%s would go back from %s to %s", p.Name, p.Req, p.Have)
	case p.Code == Duplicate:
		what = fmt.Sprintf("%q stands twice", p.Name)
	case p.Code == Orphan:
		what = fmt.Sprintf("nothing needs %s@%s", p.Name, p.Have)
	case p.Have == "":
		what = fmt.Sprintf("%s needs %s@%s, which is not locked", by, p.Name, p.Req)
	default:
		what = fmt.Sprintf("%s needs %s@%s, but %s is locked", by, p.Name, p.Req, p.Have)
	}
	return where + ": " + what
}
