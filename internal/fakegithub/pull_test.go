package fakegithub_test

import (
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

func TestPullRequestFromOpenToMerged(t *testing.T) {
	s := newStage(t)
	_, err := s.Commit(repo, fakegithub.CommitSpec{Branch: "bailiff/all", Files: map[string]string{"go.mod": "module widgets\n\ngo 1.26\n"}, As: "ann"})
	must(t, err)
	pulls := s.github.PullRequests
	created, _, err := pulls.Create(ctx(t), "acme", "widgets", &github.NewPullRequest{
		Title: github.String("All at once"), Body: github.String("A table."), Head: github.String("bailiff/all"), Base: github.String("main"),
	})
	must(t, err)
	if created.GetUser().GetLogin() != s.app.Login() || created.GetChangedFiles() != 1 || created.GetAdditions() != 2 || !created.GetMergeable() {
		t.Errorf("created: %v", created)
	}
	number := created.GetNumber()
	_, _, err = pulls.Create(ctx(t), "acme", "widgets", &github.NewPullRequest{Title: github.String("Again"), Head: github.String("bailiff/all"), Base: github.String("main")})
	status(t, err, 422, "A pull request already exists for acme:bailiff/all.")
	_, _, err = pulls.Create(ctx(t), "acme", "widgets", &github.NewPullRequest{Title: github.String("Nothing"), Head: github.String("main"), Base: github.String("main")})
	status(t, err, 422, "No commits between main and main")
	_, _, err = pulls.Create(ctx(t), "acme", "widgets", &github.NewPullRequest{Title: github.String("Nowhere"), Head: github.String("nowhere"), Base: github.String("main")})
	status(t, err, 422, "head")

	files, _, err := pulls.ListFiles(ctx(t), "acme", "widgets", number, nil)
	must(t, err)
	if len(files) != 1 || files[0].GetFilename() != "go.mod" || files[0].GetPatch() != "@@ -1 +1,3 @@\n module widgets\n+\n+go 1.26" {
		t.Errorf("files: %v", files)
	}
	commits, _, err := pulls.ListCommits(ctx(t), "acme", "widgets", number, nil)
	must(t, err)
	if len(commits) != 1 || commits[0].GetSHA() != created.GetHead().GetSHA() || commits[0].GetAuthor().GetLogin() != "ann" {
		t.Errorf("commits: %v", commits)
	}
	list, _, err := pulls.List(ctx(t), "acme", "widgets", &github.PullRequestListOptions{Head: "acme:bailiff/all"})
	must(t, err)
	if len(list) != 1 || list[0].GetNumber() != number {
		t.Errorf("list: %v", list)
	}
	edited, _, err := pulls.Edit(ctx(t), "acme", "widgets", number, &github.PullRequest{Title: github.String("All of them"), Body: github.String("Another table.")})
	must(t, err)
	if edited.GetTitle() != "All of them" || edited.GetBody() != "Another table." {
		t.Errorf("edited: %v", edited)
	}

	stale := created.GetHead().GetSHA()
	fresh, err := s.Commit(repo, fakegithub.CommitSpec{Branch: "bailiff/all", Files: map[string]string{"x": "y"}, As: "ann"})
	must(t, err)
	_, _, err = pulls.Merge(ctx(t), "acme", "widgets", number, "", &github.PullRequestOptions{SHA: stale})
	status(t, err, 409, "Head branch was modified")
	_, _, err = pulls.Merge(ctx(t), "acme", "widgets", number, "", &github.PullRequestOptions{SHA: fresh, MergeMethod: "rebase"})
	status(t, err, 405, "Rebase merges are not allowed")
	merged, _, err := pulls.Merge(ctx(t), "acme", "widgets", number, "", &github.PullRequestOptions{SHA: fresh})
	must(t, err)
	if merged.GetSHA() != s.branch("main") {
		t.Errorf("merged as %s, main is at %s", merged.GetSHA(), s.branch("main"))
	}
	after, _, err := pulls.Get(ctx(t), "acme", "widgets", number)
	must(t, err)
	if !after.GetMerged() || after.GetState() != "closed" || after.GetMergeCommitSHA() != merged.GetSHA() || after.GetCommits() != 2 {
		t.Errorf("after the merge: %v", after)
	}
	if _, _, err = pulls.Merge(ctx(t), "acme", "widgets", number, "", nil); err == nil {
		t.Error("merged twice")
	}
}

func TestMergeability(t *testing.T) {
	s := newStage(t, func(o *fakegithub.Options, _ *fakegithub.AppSpec, _ *fakegithub.RepositorySpec) {
		o.LazyMergeability = true
	})
	one := s.propose("one", map[string]string{"README.md": "one\n"})
	two := s.propose("two", map[string]string{"README.md": "two\n"})
	_, err := s.MergePullRequest(repo, one, "ann", "squash")
	must(t, err)
	for _, want := range []string{"unknown", "dirty"} {
		p, _, err := s.github.PullRequests.Get(ctx(t), "acme", "widgets", two)
		must(t, err)
		if p.GetMergeableState() != want || (p.Mergeable == nil) != (want == "unknown") {
			t.Errorf("want %s, got %s, %v", want, p.GetMergeableState(), p.Mergeable)
		}
	}
	_, _, err = s.github.PullRequests.Merge(ctx(t), "acme", "widgets", two, "", nil)
	status(t, err, 405, "not mergeable")
}

// A base that gets a head's commits otherwise has merged the pull request, and a head
// that goes closes it.
func TestPullRequestFollowsItsBranches(t *testing.T) {
	s := newStage(t)
	in := s.propose("in", map[string]string{"a": "1"})
	gone := s.propose("gone", map[string]string{"b": "1"})
	_, _, err := s.github.Git.UpdateRef(ctx(t), "acme", "widgets", &github.Reference{Ref: github.String("refs/heads/main"), Object: &github.GitObject{SHA: github.String(s.branch("in"))}}, false)
	must(t, err)
	must(t, s.DeleteBranch(repo, "gone", "ann"))
	list, err := s.PullRequests(repo)
	must(t, err)
	if list[in-1].State != "merged" || list[gone-1].State != "closed" {
		t.Errorf("states: %s, %s", list[in-1].State, list[gone-1].State)
	}
	_, err = s.Commit(repo, fakegithub.CommitSpec{Branch: "gone", Files: map[string]string{"b": "2"}, As: "ann"})
	must(t, err)
	_, _, err = s.github.PullRequests.Edit(ctx(t), "acme", "widgets", gone, &github.PullRequest{State: github.String("open")})
	must(t, err)
	_, _, err = s.github.PullRequests.Edit(ctx(t), "acme", "widgets", in, &github.PullRequest{State: github.String("open")})
	status(t, err, 422, "cannot be reopened because it was merged")
}

func TestPullRequestFromAFork(t *testing.T) {
	s := newStage(t)
	must(t, s.Fork(repo, "carol"))
	_, err := s.Commit("carol/widgets", fakegithub.CommitSpec{Branch: "patch", Files: map[string]string{"c": "1"}, As: "carol"})
	must(t, err)
	n, err := s.OpenPullRequest(repo, fakegithub.PullSpec{As: "carol", HeadRepository: "carol/widgets", Head: "patch"})
	must(t, err)
	before, _, err := s.github.PullRequests.Get(ctx(t), "acme", "widgets", n)
	must(t, err)
	sha, err := s.Commit("carol/widgets", fakegithub.CommitSpec{Branch: "patch", Files: map[string]string{"c": "2"}, As: "carol"})
	must(t, err)
	must(t, s.DeleteRepository("carol/widgets"))
	after, _, err := s.github.PullRequests.Get(ctx(t), "acme", "widgets", n)
	must(t, err)
	if before.GetHead().GetRepo().GetFullName() != "carol/widgets" || before.GetHead().GetLabel() != "carol:patch" {
		t.Errorf("before: %v", before.GetHead())
	}
	if after.GetHead().Repo != nil || after.GetHead().GetSHA() != sha || !after.GetMergeable() {
		t.Errorf("after: %v", after.GetHead())
	}
}
