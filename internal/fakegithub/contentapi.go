package fakegithub

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

func (c *call) contentView(ref string, n bare.Node) object {
	name := pathEscapeAll(n.Path)
	at := c.repositoryAPI(c.repo) + "/contents/" + name + "?ref=" + pathEscape(ref)
	kind := map[git.Mode]string{git.ModeTree: "dir", git.ModeLink: "symlink", git.ModeModule: "submodule"}[n.Mode]
	where := "blobs"
	switch kind {
	case "":
		kind = "file"
	case "dir":
		where = "trees"
	}
	gitURL := c.repositoryAPI(c.repo) + "/git/" + where + "/" + string(n.ID)
	page := c.repositoryHTML(c.repo) + "/blob/" + pathEscape(ref) + "/" + name
	var download any
	if where == "blobs" {
		download = c.repositoryHTML(c.repo) + "/raw/" + pathEscape(ref) + "/" + name
	}
	return object{
		"name": path.Base(n.Path), "path": n.Path, "sha": n.ID, "size": n.Size, "type": kind, "url": at, "git_url": gitURL, "html_url": page,
		"download_url": download, "_links": object{"self": at, "git": gitURL, "html": page},
	}
}

// maxContents is the largest file whose contents this address shows, in bytes
// (docs.github.com, get repository content: between 1 and 100 MB content is empty).
const maxContents = 1 << 20

func (c *call) getContents() reply {
	ref := c.req.URL.Query().Get("ref")
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	at := c.resolve(c.repo, ref)
	if at == "" {
		return refuse(http.StatusNotFound, "No commit found for the ref %s", ref)
	}
	name := strings.Trim(c.args["path"], "/")
	n, err := c.repo.git.Find(c.ctx, at, name)
	if errors.Is(err, bare.ErrNotFound) {
		return notFound()
	}
	if err != nil {
		return broken(err)
	}
	if n.Mode == git.ModeTree {
		nodes, err := c.repo.git.List(c.ctx, n.ID, false)
		if err != nil {
			return broken(err)
		}
		views := []object{}
		for _, in := range nodes {
			in.Path = path.Join(name, in.Path)
			views = append(views, c.contentView(ref, in))
		}
		return ok(views)
	}
	v := c.contentView(ref, n)
	data, err := c.repo.git.Blob(c.ctx, n.ID)
	switch {
	case n.Mode == git.ModeModule:
		v["submodule_git_url"] = c.url
	case err != nil:
		return broken(err)
	case n.Mode == git.ModeLink:
		v["target"] = string(data)
	case len(data) > maxContents:
		v["content"], v["encoding"] = "", "none"
	default:
		v["content"], v["encoding"] = wrapped(data), "base64"
	}
	return ok(v)
}

type contentRequest struct {
	Message   string         `json:"message"`
	Content   string         `json:"content"`
	SHA       string         `json:"sha"`
	Branch    string         `json:"branch"`
	Author    *personRequest `json:"author"`
	Committer *personRequest `json:"committer"`
}

// writeContents is PUT and DELETE of one file, a commit on a branch.
func (c *call) writeContents() reply {
	in, bad := decode[contentRequest](c)
	if bad != nil {
		return *bad
	}
	removing := c.req.Method == http.MethodDelete
	name := c.args["path"]
	if in.Branch == "" {
		in.Branch = c.repo.defaultBranch
	}
	ref := "refs/heads/" + in.Branch
	tip := c.repo.branch(in.Branch)
	switch {
	case in.Message == "":
		return invalid("Commit", "message", "missing_field", "")
	case git.CheckPath(name) != nil:
		return refuse(http.StatusUnprocessableEntity, "path contains a malformed path component")
	case tip == "" && (len(c.repo.refs) > 0 || git.CheckRef(ref) != nil):
		return refuse(http.StatusNotFound, "Branch %s not found", in.Branch)
	}
	var tree git.ID
	var parents []git.ID
	existing := git.ID("")
	if tip != "" {
		commit, err := c.repo.git.Commit(c.ctx, tip)
		if err != nil {
			return broken(err)
		}
		tree, parents = commit.Tree, []git.ID{tip}
		if n, err := c.repo.git.Find(c.ctx, tip, name); err == nil {
			existing = n.ID
		}
	}
	switch {
	case existing != "" && in.SHA == "":
		return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n\"sha\" wasn't supplied.")
	case removing && existing == "":
		return notFound()
	case in.SHA != "" && in.SHA != string(existing):
		return refuse(http.StatusConflict, "%s does not match %s", name, in.SHA)
	}
	edit := bare.Edit{Path: name}
	if !removing {
		data, err := decodeContent(in.Content, "base64")
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, "content is not valid Base64")
		}
		edit.Mode = git.ModeFile
		if edit.ID, err = c.repo.git.WriteBlob(c.ctx, data); err != nil {
			return broken(err)
		}
	}
	tree, err := c.repo.git.WriteTree(c.ctx, tree, []bare.Edit{edit})
	if err != nil {
		return broken(err)
	}
	by := c.caller.account()
	spec := bare.CommitSpec{Tree: tree, Parents: parents, Message: in.Message}
	spec.Author = c.signatureFrom(in.Author, c.signatureOf(by))
	spec.Committer = c.signatureFrom(in.Committer, c.webFlow())
	id, err := c.writeCommit(c.repo, spec, in.Author == nil && in.Committer == nil)
	if err != nil {
		return broken(err)
	}
	if r := c.guardRef(ref, tip, id); r != nil {
		return *r
	}
	if err := c.setRef(c.repo, ref, id, by); err != nil {
		return broken(err)
	}
	commit, err := c.repo.git.Commit(c.ctx, id)
	if err != nil {
		return broken(err)
	}
	v := object{"content": nil, "commit": c.gitCommitView(c.repo, commit)}
	if removing {
		return ok(v)
	}
	n, err := c.repo.git.Find(c.ctx, id, name)
	if err != nil {
		return broken(err)
	}
	v["content"] = c.contentView(in.Branch, n)
	if existing == "" {
		return created(v)
	}
	return ok(v)
}

func (c *call) listCommits() reply {
	query := c.req.URL.Query()
	from := query.Get("sha")
	if from == "" {
		from = c.repo.defaultBranch
	}
	if r := c.emptyRepository(); r != nil {
		return *r
	}
	tip := c.resolve(c.repo, from)
	if tip == "" {
		return notFound()
	}
	const most = 1000 // more than a test makes
	list, err := c.repo.git.Log(c.ctx, tip, query.Get("path"), 0, most)
	if err != nil {
		return broken(err)
	}
	views := []object{}
	for _, commit := range paged(c, list) {
		views = append(views, c.commitView(c.repo, commit))
	}
	return ok(views)
}

func (c *call) getCommit() reply {
	id := c.resolve(c.repo, c.args["ref"])
	if id == "" {
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", c.args["ref"])
	}
	commit, err := c.repo.git.Commit(c.ctx, id)
	if err != nil {
		return broken(err)
	}
	v := c.commitView(c.repo, commit)
	files, added, deleted := []object{}, 0, 0
	if len(commit.Parents) > 0 {
		cmp, err := c.repo.git.Compare(c.ctx, commit.Parents[0], id)
		if err != nil {
			return broken(err)
		}
		list, err := cmp.Files(c.ctx)
		if err != nil {
			return broken(err)
		}
		for _, f := range list {
			files = append(files, c.fileView(c.repo, id, f))
			added, deleted = added+f.Additions, deleted+f.Deletions
		}
	}
	v["files"], v["stats"] = files, object{"additions": added, "deletions": deleted, "total": added + deleted}
	return ok(v)
}

func (c *call) compareCommits() reply {
	from, to, found := strings.Cut(c.args["basehead"], "...")
	side := func(name string) git.ID {
		owner, branch, ok := strings.Cut(name, ":")
		if !ok || fold(owner) == fold(c.repo.owner.login) {
			if ok {
				name = branch
			}
			return c.resolve(c.repo, name)
		}
		for _, i := range c.repo.issues { // a fork's branch is known by its pull request
			if i.pull != nil && i.pull.head.owner != nil && fold(i.pull.head.owner.login) == fold(owner) && i.pull.head.ref == branch {
				return i.pull.head.sha
			}
		}
		return ""
	}
	base, head := side(from), side(to)
	if !found || base == "" || head == "" {
		return notFound()
	}
	cmp, err := c.repo.git.Compare(c.ctx, base, head)
	if err != nil {
		return broken(err)
	}
	if cmp.MergeBase == "" {
		return refuse(http.StatusNotFound, "No common ancestor between %s and %s.", from, to)
	}
	list, err := cmp.Files(c.ctx)
	if err != nil {
		return broken(err)
	}
	baseCommit, err := c.repo.git.Commit(c.ctx, base)
	if err != nil {
		return broken(err)
	}
	meet, err := c.repo.git.Commit(c.ctx, cmp.MergeBase)
	if err != nil {
		return broken(err)
	}
	state := "identical"
	switch {
	case len(cmp.Ahead) > 0 && cmp.Behind > 0:
		state = "diverged"
	case len(cmp.Ahead) > 0:
		state = "ahead"
	case cmp.Behind > 0:
		state = "behind"
	}
	commits, files := []object{}, []object{}
	for _, commit := range paged(c, cmp.Ahead) {
		commits = append(commits, c.commitView(c.repo, commit))
	}
	for _, f := range list[:min(len(list), 300)] { // GitHub's own limit
		files = append(files, c.fileView(c.repo, head, f))
	}
	page := c.repositoryHTML(c.repo) + "/compare/" + string(base) + "..." + string(head)
	return ok(object{
		"url": c.repositoryAPI(c.repo) + "/compare/" + string(base) + "..." + string(head), "html_url": page, "permalink_url": page,
		"diff_url": page + ".diff", "patch_url": page + ".patch", "base_commit": c.commitView(c.repo, baseCommit), "merge_base_commit": c.commitView(c.repo, meet),
		"status": state, "ahead_by": len(cmp.Ahead), "behind_by": cmp.Behind, "total_commits": len(cmp.Ahead), "commits": commits, "files": files,
	})
}
