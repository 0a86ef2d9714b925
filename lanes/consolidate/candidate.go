package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// bots are the dependency bots known by their authors' addresses. Sources:
// GitHub's noreply addresses hold the numeric id of the App.
var bots = []struct{ email, name string }{
	{"49699333+dependabot[bot]@users.noreply.github.com", ""},
	{"support@dependabot.com", "dependabot[bot]"},
	{"support@github.com", "dependabot[bot]"},
	{"27856297+dependabot-preview[bot]@users.noreply.github.com", ""},
	{"29139614+renovate[bot]@users.noreply.github.com", ""},
	{"bot@renovateapp.com", ""},
	{"renovate@whitesourcesoftware.com", ""},
}

// botName matches the author of a self-hosted bot, which may have any address.
var botName = regexp.MustCompile(`(?i)^(dependabot|renovate)\b`)

// botBranch matches the branches that dependency bots make by default.
var botBranch = regexp.MustCompile(`^(dependabot|dependabot-preview|renovate)/.`)

func isBot(s git.Signature, extra []string) bool {
	for _, b := range bots {
		if b.email == s.Email && (b.name == "" || b.name == s.Name) {
			return true
		}
	}
	return botName.MatchString(s.Name) || slices.Contains(extra, s.Name) || slices.Contains(extra, s.Email)
}

// A candidate is a branch that may join.
type candidate struct {
	branch string // without refs/heads/ or refs/remotes/NAME/
	id     git.ID
	number *int
	// chosen says that the user named the branch: then whoever wrote its first
	// commit counts as its bot.
	chosen bool
}

var pullRef = regexp.MustCompile(`^refs/(?:remotes/[^/]+/)?(?:pull|pr)/([0-9]{1,9})(?:/head)?$`)

// selectCandidates finds the branches to consolidate among a clone's references.
func selectCandidates(ctx context.Context, s *git.Scratch, refs []git.Ref, o Options, warn func(string, ...any)) ([]candidate, error) {
	numbers := map[git.ID]int{}
	for _, r := range refs {
		if m := pullRef.FindStringSubmatch(r.Name); m != nil {
			n, _ := strconv.Atoi(m[1]) // nine digits at most
			numbers[r.Commit] = n
		}
	}
	found := map[string]candidate{}
	remote := map[string]bool{}
	for _, r := range refs {
		name, isRemote, ok := branchName(r)
		if !ok || name == o.Into || name == o.Base || pullRef.MatchString(r.Name) {
			continue
		}
		c := candidate{branch: name, id: r.Commit, chosen: matchAny(o.Branches, name)}
		if !c.chosen {
			if len(o.Branches) > 0 {
				continue
			}
			if !botBranch.MatchString(name) {
				tip, err := s.Commit(ctx, r.Commit)
				if err != nil {
					return nil, err
				}
				if !isBot(tip.Author, o.Bots) || tip.Committer.Email == committer.Email {
					continue // the latter: an earlier result under another name
				}
			}
		}
		if n, ok := numbers[c.id]; ok {
			c.number = &n
		}
		if old, ok := found[name]; ok && old.id != c.id {
			warn("the branch %s differs between the clone and its remote; the remote's counts", quoted(name))
			if remote[name] && !isRemote {
				continue
			}
		}
		found[name], remote[name] = c, isRemote
	}
	out := make([]candidate, 0, len(found))
	for _, c := range found {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b candidate) int { return cmp.Compare(a.branch, b.branch) })
	return out, nil
}

// branchName is a branch's own name, wherever the clone keeps it.
func branchName(r git.Ref) (name string, remote, ok bool) {
	if r.Symref != "" {
		return "", false, false
	}
	if n, ok := strings.CutPrefix(r.Name, "refs/heads/"); ok {
		return n, false, true
	}
	if n, ok := strings.CutPrefix(r.Name, "refs/remotes/"); ok {
		_, n, ok = strings.Cut(n, "/")
		return n, true, ok
	}
	return "", false, false
}

// matchAny reports whether a name matches one of the patterns, in which *
// stands for anything, slashes too.
func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(strings.ReplaceAll(p, "/", "\x01"), strings.ReplaceAll(name, "/", "\x01")); ok {
			return true
		}
	}
	return false
}

// quoted makes a name from a repository fit to be shown.
func quoted(s string) string {
	q := strconv.QuoteToGraphic(s)
	if q == `"`+s+`"` {
		return s
	}
	return q
}

// lineage finds where a candidate left the base, and the commits that it is
// ahead by, oldest first. One walk over all candidates has read them.
func (e *engine) lineage(c candidate, base git.ID) (fork git.ID, ahead []git.Commit, err error) {
	forks := map[git.ID]bool{}
	seen := map[git.ID]bool{}
	var walk func(id git.ID)
	walk = func(id git.ID) {
		k, ok := e.ahead[id]
		if !ok {
			forks[id] = true
			return
		}
		if seen[id] {
			return
		}
		seen[id] = true
		for _, p := range k.Parents {
			walk(p)
		}
		ahead = append(ahead, k)
	}
	walk(c.id)
	if len(forks) == 1 && !e.shallow { // where a shallow clone ends, parents are missing
		for id := range forks {
			return id, ahead, nil
		}
	}
	// Merges of the base, or no common history: git knows which.
	fork, ok, err := e.scratch.MergeBase(e.ctx, base, c.id)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, &refuseRun{"the branch " + quoted(c.branch) + " shares no history with the base; leave it out with --branches, or fetch what is missing"}
	}
	return fork, ahead, nil
}

// commitsOf checks who wrote the commits that a candidate is ahead by. It
// returns those of its own, without merges of the base.
func (e *engine) commitsOf(c candidate, ahead []git.Commit) ([]git.Commit, error) {
	var own []git.Commit
	for _, k := range ahead {
		if len(k.Parents) > 1 {
			if err := e.baseMerge(k); err != nil {
				return nil, err
			}
			continue
		}
		bot := isBot(k.Author, e.opts.Bots)
		if !bot && c.chosen && len(own) == 0 {
			bot = true
		}
		if !bot && c.chosen && k.Author.Email == own[0].Author.Email && !isBot(own[0].Author, e.opts.Bots) {
			bot = true
		}
		if !bot {
			return nil, &refusal{PersonCommit, fmt.Sprintf("commit %s is by %s, not by the bot; merge or close it yourself", k.ID[:10], quoted(k.Author.Name)), Evidence{Key: string(k.ID)}}
		}
		own = append(own, k)
	}
	return own, nil
}

// baseMerge accepts a merge of the base that is exactly what git makes of it.
func (e *engine) baseMerge(k git.Commit) error {
	if len(k.Parents) == 2 {
		tree, clean, err := e.scratch.MergeTree(e.ctx, k.Parents[0], k.Parents[1])
		if err != nil {
			return err
		}
		if clean && tree == k.Tree {
			return nil
		}
	}
	return &refusal{PersonCommit, fmt.Sprintf("the merge %s holds changes of its own", k.ID[:10]), Evidence{Key: string(k.ID)}}
}
