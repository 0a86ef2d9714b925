package fakegithub

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

func (c *call) refView(name string) object {
	at := c.repositoryAPI(c.repo) + "/git/"
	id, kind := c.repo.refs[name], "commit"
	if commit, err := c.repo.git.Commit(c.ctx, id); err != nil || commit.ID != id {
		kind = "tag"
	}
	return object{
		"ref": name, "node_id": nodeSHA("REF", git.ID(name)), "url": at + pathEscapeAll(name),
		"object": object{"sha": id, "type": kind, "url": at + kind + "s/" + string(id)},
	}
}

func (c *call) getRef() reply {
	name := "refs/" + c.args["ref"]
	if c.repo.refs[name] == "" {
		return notFound()
	}
	return ok(c.refView(name))
}

func (c *call) matchingRefs() reply {
	names := []string{}
	for name := range c.repo.refs {
		if strings.HasPrefix(name, "refs/"+c.args["ref"]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	views := []object{}
	for _, name := range paged(c, names) {
		views = append(views, c.refView(name))
	}
	return ok(views)
}

// emptyRepository is the answer of the git database where nothing was pushed yet.
func (c *call) emptyRepository() *reply {
	if len(c.repo.refs) > 0 {
		return nil
	}
	r := refuse(http.StatusConflict, "Git Repository is empty.")
	return &r
}

func (c *call) createRef() reply {
	in, bad := decode[struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	}](c)
	if bad == nil {
		bad = c.emptyRepository()
	}
	if bad != nil {
		return *bad
	}
	if git.CheckRef(in.Ref) != nil || !strings.HasPrefix(in.Ref, "refs/heads/") && !strings.HasPrefix(in.Ref, "refs/tags/") {
		return refuse(http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and contain at least two slashes.")
	}
	if c.repo.refs[in.Ref] != "" {
		return refuse(http.StatusUnprocessableEntity, "Reference already exists")
	}
	sha := c.resolve(c.repo, in.SHA)
	if sha == "" || string(sha) != in.SHA {
		return refuse(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if r := c.guardRef(in.Ref, "", sha); r != nil {
		return *r
	}
	if err := c.setRef(c.repo, in.Ref, sha, c.caller.account()); err != nil {
		return refuse(http.StatusUnprocessableEntity, "Reference cannot be created: %v", err)
	}
	return created(c.refView(in.Ref))
}

// guardRef asks the workflows permission and the branch's protection.
func (c *call) guardRef(ref string, old, to git.ID) *reply {
	word, err := c.workflowRefusal(c.repo, c.caller.token, ref, old, to)
	if err == nil && word != "" {
		r := refuse(http.StatusForbidden, "%s", word)
		return &r
	}
	if err == nil {
		word, err = c.protectionRefusal(c.repo, ref, old, to, c.caller.account())
	}
	if err != nil {
		r := broken(err)
		return &r
	}
	if word != "" {
		r := refuse(http.StatusUnprocessableEntity, "%s", word)
		return &r
	}
	return nil
}

func (c *call) updateRef() reply {
	ref := "refs/" + c.args["ref"]
	old := c.repo.refs[ref]
	if old == "" {
		return refuse(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	in, bad := decode[struct {
		SHA   string `json:"sha"`
		Force bool   `json:"force"`
	}](c)
	if bad != nil {
		return *bad
	}
	sha := c.resolve(c.repo, in.SHA)
	if sha == "" || string(sha) != in.SHA {
		return refuse(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if ahead, err := c.repo.git.Contains(c.ctx, sha, old); err != nil {
		return broken(err)
	} else if !ahead && !in.Force {
		return refuse(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if r := c.guardRef(ref, old, sha); r != nil {
		return *r
	}
	if err := c.setRef(c.repo, ref, sha, c.caller.account()); err != nil {
		return broken(err)
	}
	return ok(c.refView(ref))
}

func (c *call) deleteRef() reply {
	ref := "refs/" + c.args["ref"]
	old := c.repo.refs[ref]
	if old == "" {
		return refuse(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if r := c.guardRef(ref, old, ""); r != nil {
		return *r
	}
	if err := c.setRef(c.repo, ref, "", c.caller.account()); err != nil {
		return broken(err)
	}
	return empty()
}

func (c *call) createBlob() reply {
	in, bad := decode[struct {
		Content  string `json:"content"`
		Encoding string `json:"encoding"`
	}](c)
	if bad == nil {
		bad = c.emptyRepository()
	}
	if bad != nil {
		return *bad
	}
	data, err := decodeContent(in.Content, in.Encoding)
	if err != nil {
		return invalid("Blob", "content", "invalid", err.Error())
	}
	id, err := c.repo.git.WriteBlob(c.ctx, data)
	if err != nil {
		return broken(err)
	}
	return created(object{"sha": id, "url": c.repositoryAPI(c.repo) + "/git/blobs/" + string(id)})
}

func (c *call) getBlob() reply {
	id := git.ID(c.args["sha"])
	data, err := c.repo.git.Blob(c.ctx, id)
	if err != nil {
		return notFound()
	}
	return ok(object{
		"sha": id, "node_id": nodeSHA("B", id), "size": len(data), "encoding": "base64", "content": wrapped(data),
		"url": c.repositoryAPI(c.repo) + "/git/blobs/" + string(id),
	})
}

// wrapped is base64 in lines, as GitHub sends it.
func wrapped(data []byte) string {
	var b strings.Builder
	text := base64.StdEncoding.EncodeToString(data)
	for len(text) > 60 {
		b.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	b.WriteString(text + "\n")
	return b.String()
}

func (c *call) treeView(id git.ID, recursive bool) (object, error) {
	nodes, err := c.repo.git.List(c.ctx, id, recursive)
	if err != nil {
		return nil, err
	}
	at := c.repositoryAPI(c.repo) + "/git/"
	views := []object{}
	for _, n := range nodes {
		v := object{"path": n.Path, "mode": n.Mode.String(), "type": n.Type(), "sha": n.ID}
		switch n.Type() {
		case "blob":
			v["size"], v["url"] = n.Size, at+"blobs/"+string(n.ID)
		case "tree":
			v["url"] = at + "trees/" + string(n.ID)
		}
		views = append(views, v)
	}
	return object{"sha": id, "url": at + "trees/" + string(id), "tree": views, "truncated": false}, nil
}

func (c *call) getTree() reply {
	id := git.ID(c.args["sha"])
	if at := c.resolve(c.repo, c.args["sha"]); at != "" {
		commit, err := c.repo.git.Commit(c.ctx, at)
		if err != nil {
			return broken(err)
		}
		id = commit.Tree
	}
	v, err := c.treeView(id, c.req.URL.Query().Has("recursive"))
	if err != nil {
		return notFound()
	}
	return ok(v)
}

func (c *call) createTree() reply {
	in, bad := decode[struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path    string  `json:"path"`
			Mode    string  `json:"mode"`
			Type    string  `json:"type"`
			SHA     *string `json:"sha"`
			Content *string `json:"content"`
		} `json:"tree"`
	}](c)
	if bad == nil {
		bad = c.emptyRepository()
	}
	if bad != nil {
		return *bad
	}
	var edits []bare.Edit
	for _, e := range in.Tree {
		mode, err := strconv.ParseUint(e.Mode, 8, 32)
		if err != nil || git.CheckPath(e.Path) != nil {
			return refuse(http.StatusUnprocessableEntity, "tree.path contains a malformed path component, or tree.mode is invalid")
		}
		edit := bare.Edit{Path: e.Path, Mode: git.Mode(mode)}
		switch {
		case e.Content != nil:
			if edit.ID, err = c.repo.git.WriteBlob(c.ctx, []byte(*e.Content)); err != nil {
				return broken(err)
			}
		case e.SHA == nil:
			edit.Mode = git.ModeNone
		default:
			if edit.ID = git.ID(*e.SHA); !edit.ID.Valid() {
				return refuse(http.StatusUnprocessableEntity, "tree.sha %s is not a valid object", *e.SHA)
			}
		}
		edits = append(edits, edit)
	}
	base := git.ID(in.BaseTree)
	if at := c.resolve(c.repo, in.BaseTree); at != "" { // a commit will do
		commit, err := c.repo.git.Commit(c.ctx, at)
		if err != nil {
			return broken(err)
		}
		base = commit.Tree
	} else if base != "" {
		if _, err := c.repo.git.List(c.ctx, base, false); err != nil {
			return refuse(http.StatusUnprocessableEntity, "base_tree is not a valid tree")
		}
	}
	id, err := c.repo.git.WriteTree(c.ctx, base, edits)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "The tree cannot be made: %v", err)
	}
	v, err := c.treeView(id, false)
	if err != nil {
		return broken(err)
	}
	return created(v)
}

type personRequest struct {
	Name  string     `json:"name"`
	Email string     `json:"email"`
	Date  *time.Time `json:"date"`
}

func (c *call) signatureFrom(p *personRequest, otherwise git.Signature) git.Signature {
	if p == nil {
		return otherwise
	}
	g := c.signature(p.Name, p.Email)
	if p.Date != nil {
		g.When.Unix = p.Date.Unix()
	}
	return g
}

// createCommit signs what an App commits in its own name, as GitHub does: a custom
// author or committer, or a signature of its own, and GitHub does not.
func (c *call) createCommit() reply {
	in, bad := decode[struct {
		Message   string         `json:"message"`
		Tree      string         `json:"tree"`
		Parents   []string       `json:"parents"`
		Author    *personRequest `json:"author"`
		Committer *personRequest `json:"committer"`
		Signature string         `json:"signature"`
	}](c)
	if bad != nil {
		return *bad
	}
	by := c.caller.account()
	spec := bare.CommitSpec{Tree: git.ID(in.Tree), Message: in.Message, Signature: in.Signature}
	spec.Author = c.signatureFrom(in.Author, c.signatureOf(by))
	own := in.Author == nil && in.Committer == nil && in.Signature == "" && c.caller.actingApp() != nil
	spec.Committer = spec.Author
	if own {
		spec.Committer = c.webFlow()
	}
	spec.Committer = c.signatureFrom(in.Committer, spec.Committer)
	for _, p := range in.Parents {
		spec.Parents = append(spec.Parents, git.ID(p))
	}
	id, err := c.writeCommit(c.repo, spec, own)
	if errors.Is(err, bare.ErrNotFound) {
		return refuse(http.StatusUnprocessableEntity, "Tree SHA does not exist, or Parent SHA does not exist or is not a commit object")
	}
	if err != nil {
		return broken(err)
	}
	commit, err := c.repo.git.Commit(c.ctx, id)
	if err != nil {
		return broken(err)
	}
	return created(c.gitCommitView(c.repo, commit))
}

func (c *call) getGitCommit() reply {
	commit, err := c.repo.git.Commit(c.ctx, git.ID(c.args["sha"]))
	if err != nil {
		return notFound()
	}
	return ok(c.gitCommitView(c.repo, commit))
}
