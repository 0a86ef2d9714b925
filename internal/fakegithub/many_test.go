package fakegithub_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-github/v60/github"
)

// Requests, pushes and looks from many sides at once leave each with what it did.
func TestManyAtOnce(t *testing.T) {
	s, r := hooked(t)
	number := s.propose("bump", map[string]string{"a": "1"})
	token := s.token(nil)
	const n = 4
	var all sync.WaitGroup
	for i := range n {
		u := s.clone(token)
		u.write(fmt.Sprint("file", i), []byte("text\n"))
		all.Go(func() {
			if out, err := u.run("push", "origin", fmt.Sprint("HEAD:topic", i)); err != nil {
				t.Errorf("push: %v %s", err, out)
			}
			if sha, err := s.Branch(repo, fmt.Sprint("topic", i)); sha == "" || err != nil {
				t.Errorf("the push is not seen when it has ended: %v", err)
			}
		})
		all.Go(func() {
			_, _, err := s.github.Issues.CreateComment(ctx(t), "acme", "widgets", number, &github.IssueComment{Body: github.String(fmt.Sprint(i))})
			if err != nil {
				t.Error(err)
			}
			var got candidatePage
			if problems := s.graphql(token, candidates, map[string]any{"owner": "acme", "name": "widgets"}, &got); len(problems) > 0 {
				t.Error(problems)
			}
		})
	}
	all.Wait()
	comments, err := s.Comments(repo, number)
	must(t, err)
	if len(comments) != n {
		t.Errorf("%d comments", len(comments))
	}
	count := map[string]int{}
	for _, name := range names(s.take(r)) {
		count[name]++
	}
	if count["push"] != n+1 || count["create"] != n+1 || count["issue_comment.created"] != n {
		t.Errorf("events: %v", count)
	}
}

// BenchmarkCandidates is what a consolidation asks first, over a repository of thirty
// pull requests whose merges git has not been asked for yet, and then again.
func BenchmarkCandidates(b *testing.B) {
	s := newStage(b)
	for i := range 30 {
		s.propose(fmt.Sprint("bump", i), map[string]string{fmt.Sprint("file", i): "1\n"})
	}
	token := s.token(nil)
	for b.Loop() {
		var got candidatePage
		if problems := s.graphql(token, candidates, map[string]any{"owner": "acme", "name": "widgets"}, &got); len(problems) > 0 {
			b.Fatal(problems)
		}
		if got.Repository.PullRequests.TotalCount != 30 {
			b.Fatalf("%d pull requests", got.Repository.PullRequests.TotalCount)
		}
	}
}
