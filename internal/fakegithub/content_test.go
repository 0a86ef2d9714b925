package fakegithub_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/bailiff-bot/bailiff/internal/fakegithub"
)

func TestContents(t *testing.T) {
	s := newStage(t)
	repos := s.github.Repositories
	file, _, _, err := repos.GetContents(ctx(t), "acme", "widgets", "README.md", nil)
	must(t, err)
	text, err := file.GetContent()
	must(t, err)
	if text != "widgets\n" {
		t.Errorf("%q", text)
	}
	write := func(path, content, sha string) (*github.RepositoryContentResponse, error) {
		o := &github.RepositoryContentFileOptions{Message: github.String("write"), Content: []byte(content)}
		if sha != "" {
			o.SHA = &sha
		}
		r, _, err := repos.CreateFile(ctx(t), "acme", "widgets", path, o)
		return r, err
	}
	made, err := write(".github/bailiff/consolidate.toml", "goal = 1\n", "")
	must(t, err)
	if s.branch("main") != made.Commit.GetSHA() || !made.Commit.GetVerification().GetVerified() {
		t.Errorf("made: %v", made.Commit)
	}
	_, err = write("README.md", "x", "")
	status(t, err, 422, "sha")
	_, err = write("README.md", "x", strings.Repeat("1", 40))
	status(t, err, 409, "does not match")
	_, err = write("README.md", "x", file.GetSHA())
	must(t, err)
	_, dir, _, err := repos.GetContents(ctx(t), "acme", "widgets", ".github/bailiff", nil)
	must(t, err)
	if len(dir) != 1 || dir[0].GetPath() != ".github/bailiff/consolidate.toml" {
		t.Errorf("dir: %v", dir)
	}
	_, _, err = repos.DeleteFile(ctx(t), "acme", "widgets", ".github/bailiff/consolidate.toml", &github.RepositoryContentFileOptions{Message: github.String("no"), SHA: made.Content.SHA})
	must(t, err)
	_, _, _, err = repos.GetContents(ctx(t), "acme", "widgets", ".github/bailiff/consolidate.toml", nil)
	status(t, err, 404, "Not Found")
	narrow := s.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("write")}})
	if code, body, _ := s.ask("PUT", "/repos/acme/widgets/contents/.github/workflows/x.yml", "token "+narrow, `{"message":"x","content":"eA=="}`); code != 403 || !strings.Contains(body, "workflows") {
		t.Errorf("a workflow without its permission: %d %s", code, body)
	}
	commits, _, err := repos.ListCommits(ctx(t), "acme", "widgets", &github.CommitsListOptions{Path: "README.md"})
	must(t, err)
	one, _, err := repos.GetCommit(ctx(t), "acme", "widgets", "main", nil)
	must(t, err)
	if len(commits) != 2 || one.GetSHA() != s.branch("main") || len(one.Files) != 1 || one.Files[0].GetStatus() != "removed" {
		t.Errorf("commits: %v, the last: %v", commits, one.Files)
	}
}

// Signed mode: blobs, a tree, a commit that GitHub signs, and a branch, all through the
// API, onto a branch that wants signatures.
func TestCommitThroughTheAPI(t *testing.T) {
	s := newStage(t)
	must(t, s.Protect(repo, "main", &fakegithub.Protection{RequiredSignatures: true}))
	g, base := s.github.Git, s.branch("main")
	blob, _, err := g.CreateBlob(ctx(t), "acme", "widgets", &github.Blob{Content: github.String("aGk="), Encoding: github.String("base64")})
	must(t, err)
	tree, _, err := g.CreateTree(ctx(t), "acme", "widgets", base, []*github.TreeEntry{
		{Path: github.String("deep/er/file"), Mode: github.String("100755"), Type: github.String("blob"), SHA: blob.SHA},
		{Path: github.String("go.mod"), Mode: github.String("100644"), Type: github.String("blob")}, // goes
	})
	must(t, err)
	all, _, err := g.GetTree(ctx(t), "acme", "widgets", tree.GetSHA(), true)
	must(t, err)
	var paths []string
	for _, e := range all.Entries {
		paths = append(paths, e.GetMode()+" "+e.GetPath())
	}
	if got := strings.Join(paths, ","); got != "100644 README.md,040000 deep,040000 deep/er,100755 deep/er/file" {
		t.Errorf("tree: %s", got)
	}
	parents := []*github.Commit{{SHA: &base}}
	own, _, err := g.CreateCommit(ctx(t), "acme", "widgets", &github.Commit{Message: github.String("Own"), Tree: tree, Parents: parents}, nil)
	must(t, err)
	custom, _, err := g.CreateCommit(ctx(t), "acme", "widgets", &github.Commit{
		Message: github.String("Custom"), Tree: tree, Parents: parents, Author: &github.CommitAuthor{Name: github.String("dependabot[bot]"), Email: github.String("d@example.com")},
	}, nil)
	must(t, err)
	if !own.GetVerification().GetVerified() || custom.GetVerification().GetVerified() {
		t.Errorf("verified: own %v, custom %v", own.Verification, custom.Verification)
	}
	move := func(sha string, force bool) error {
		_, _, err := g.UpdateRef(ctx(t), "acme", "widgets", &github.Reference{Ref: github.String("refs/heads/main"), Object: &github.GitObject{SHA: &sha}}, force)
		return err
	}
	status(t, move(custom.GetSHA(), false), 422, "verified signatures")
	must(t, move(own.GetSHA(), false))
	status(t, move(base, false), 422, "not a fast forward")
	status(t, move(base, true), 422, "Cannot force-push")
	status(t, move(strings.Repeat("a", 40), false), 422, "does not exist")
	point := func(ref, sha string) error {
		_, _, err := g.CreateRef(ctx(t), "acme", "widgets", &github.Reference{Ref: &ref, Object: &github.GitObject{SHA: &sha}})
		return err
	}
	must(t, point("refs/heads/bailiff/one", own.GetSHA()))
	status(t, point("refs/heads/bailiff/one", own.GetSHA()), 422, "already exists")
	status(t, point("refs/heads/bailiff", own.GetSHA()), 422, "cannot be created")
	status(t, point("refs/pull/9/head", own.GetSHA()), 422, "must start with")
	got, _, err := g.GetRef(ctx(t), "acme", "widgets", "heads/bailiff/one")
	must(t, err)
	cmp, _, err := s.github.Repositories.CompareCommits(ctx(t), "acme", "widgets", base, "bailiff/one", nil)
	must(t, err)
	if got.GetObject().GetSHA() != own.GetSHA() || cmp.GetStatus() != "ahead" || cmp.GetAheadBy() != 1 || len(cmp.Files) != 2 {
		t.Errorf("ref: %v, compared: %v", got, cmp)
	}
	_, err = g.DeleteRef(ctx(t), "acme", "widgets", "heads/bailiff/one")
	must(t, err)
	if s.branch("bailiff/one") != "" {
		t.Error("the deleted branch is there")
	}
}

func TestProtection(t *testing.T) {
	s := newStage(t)
	repos := s.github.Repositories
	_, _, err := repos.GetBranchProtection(ctx(t), "acme", "widgets", "main")
	if err == nil {
		t.Error("protected from the start")
	}
	must(t, s.Protect(repo, "main", &fakegithub.Protection{RequiredChecks: []string{"test"}, RequiredSignatures: true, Strict: true}))
	p, _, err := repos.GetBranchProtection(ctx(t), "acme", "widgets", "main")
	must(t, err)
	if c := p.GetRequiredStatusChecks(); !c.Strict || len(*c.Contexts) != 1 || !p.GetRequiredSignatures().GetEnabled() {
		t.Errorf("protection: %v", p)
	}
	b, _, err := repos.GetBranch(ctx(t), "acme", "widgets", "main", 0)
	must(t, err)
	if !b.GetProtected() {
		t.Error("the branch does not say so")
	}
	number := s.propose("bump", map[string]string{"a": "1"})
	_, _, err = s.github.PullRequests.Merge(ctx(t), "acme", "widgets", number, "", nil)
	status(t, err, 405, `Required status check "test" is expected`)
	must(t, s.Status(repo, "bump", "test", "success", "ann"))
	_, _, err = s.github.PullRequests.Merge(ctx(t), "acme", "widgets", number, "", nil)
	status(t, err, 405, "verified signatures")
	_, _, err = s.github.PullRequests.Merge(ctx(t), "acme", "widgets", number, "", &github.PullRequestOptions{MergeMethod: "squash"})
	must(t, err)
}

// A repository that moved answers at its number and leads there from its old name.
func TestRepositoryMoves(t *testing.T) {
	s := newStage(t)
	token := "token " + s.token(nil)
	must(t, s.Rename(repo, "gadgets"))
	code, body, header := s.ask("GET", "/api/v3/repos/acme/widgets/pulls?state=all", token, "")
	if code != http.StatusMovedPermanently || !strings.Contains(header.Get("Location"), "/api/v3/repositories/") || !strings.HasSuffix(header.Get("Location"), "/pulls?state=all") {
		t.Errorf("%d %s %v", code, body, header)
	}
	if code, _, _ := s.ask("POST", "/repos/acme/widgets/issues", token, `{"title":"x"}`); code != http.StatusTemporaryRedirect {
		t.Errorf("a write: %d", code)
	}
	got, _, err := s.github.Repositories.Get(ctx(t), "acme", "widgets")
	must(t, err)
	if got.GetFullName() != "acme/gadgets" {
		t.Errorf("followed to %s", got.GetFullName())
	}
	must(t, s.Archive("acme/gadgets", true))
	_, _, err = s.github.Issues.Create(ctx(t), "acme", "gadgets", &github.IssueRequest{Title: github.String("x")})
	status(t, err, 403, "archived")
	must(t, s.Archive("acme/gadgets", false))
	must(t, s.Empty("acme/gadgets"))
	_, _, err = s.github.Repositories.ListCommits(ctx(t), "acme", "gadgets", nil)
	status(t, err, 409, "empty")
	must(t, s.Transfer("acme/gadgets", "zed"))
	_, _, err = s.github.Repositories.Get(ctx(t), "zed", "gadgets")
	status(t, err, 404, "Not Found")
}

func TestIssuesAndLabels(t *testing.T) {
	s := newStage(t)
	issues := s.github.Issues
	made, _, err := issues.Create(ctx(t), "acme", "widgets", &github.IssueRequest{Title: github.String("Flaky"), Labels: &[]string{"flaky"}})
	must(t, err)
	number := made.GetNumber()
	labels, _, err := issues.AddLabelsToIssue(ctx(t), "acme", "widgets", number, []string{"Flaky", "needs: owner"})
	must(t, err)
	if len(labels) != 2 {
		t.Errorf("labels: %v", labels)
	}
	_, err = issues.RemoveLabelForIssue(ctx(t), "acme", "widgets", number, "needs: owner")
	must(t, err)
	_, err = issues.RemoveLabelForIssue(ctx(t), "acme", "widgets", number, "none")
	status(t, err, 404, "Label does not exist")
	_, _, err = issues.CreateLabel(ctx(t), "acme", "widgets", &github.Label{Name: github.String("FLAKY"), Color: github.String("ff0000")})
	status(t, err, 422, "already_exists")
	comment, _, err := issues.CreateComment(ctx(t), "acme", "widgets", number, &github.IssueComment{Body: github.String("hi")})
	must(t, err)
	_, _, err = issues.EditComment(ctx(t), "acme", "widgets", comment.GetID(), &github.IssueComment{Body: github.String("ho")})
	must(t, err)
	_, _, err = issues.CreateComment(ctx(t), "acme", "widgets", number, &github.IssueComment{Body: github.String(strings.Repeat("é", 65537))})
	status(t, err, 422, "65536")
	first, resp, err := s.github.Reactions.CreateIssueCommentReaction(ctx(t), "acme", "widgets", comment.GetID(), "eyes")
	must(t, err)
	again, resp2, err := s.github.Reactions.CreateIssueCommentReaction(ctx(t), "acme", "widgets", comment.GetID(), "eyes")
	must(t, err)
	if resp.StatusCode != http.StatusCreated || resp2.StatusCode != http.StatusOK || first.GetID() != again.GetID() {
		t.Errorf("reactions: %d %v, %d %v", resp.StatusCode, first, resp2.StatusCode, again)
	}
	list, _, err := issues.ListComments(ctx(t), "acme", "widgets", number, nil)
	must(t, err)
	if len(list) != 1 || list[0].GetBody() != "ho" || list[0].GetReactions().GetEyes() != 1 || list[0].GetUser().GetLogin() != s.app.Login() {
		t.Errorf("comments: %v", list)
	}
	_, _, err = issues.Edit(ctx(t), "acme", "widgets", number, &github.IssueRequest{State: github.String("closed")})
	must(t, err)
	open, _, err := issues.ListByRepo(ctx(t), "acme", "widgets", nil)
	must(t, err)
	if len(open) != 0 {
		t.Errorf("open: %v", open)
	}
}
