package fakegithub

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/git"
)

// commentRow is a comment on a page.
type commentRow struct {
	Author, Body string
	At           time.Time
	Edited       bool
	Reactions    string
}

var emoji = map[string]string{"+1": "👍", "-1": "👎", "laugh": "😄", "hooray": "🎉", "confused": "😕", "heart": "❤️", "rocket": "🚀", "eyes": "👀"}

func commentsOf(i *issue) []commentRow {
	var rows []commentRow
	for _, c := range i.comments {
		row := commentRow{Author: c.user.login, Body: c.body, At: c.created, Edited: c.updated.After(c.created)}
		for _, r := range c.reactions {
			row.Reactions += emoji[r.content] + " "
		}
		rows = append(rows, row)
	}
	return rows
}

// runRow is a check run on a page.
type runRow struct {
	ID                   int64
	Name, App, State     string
	Title, Summary, Text string
	ExternalID, SHA      string
	Started, Completed   time.Time
	Annotations          []annotation
	Actions              []checkAction
}

func rowOf(c *checkRun) runRow {
	state := c.status
	if c.conclusion != "" {
		state = c.conclusion
	}
	return runRow{
		ID: c.id, Name: c.name, App: c.suite.app.name, State: state, Title: c.title, Summary: c.summary, Text: c.text, ExternalID: c.externalID,
		SHA: string(c.suite.sha), Started: c.started, Completed: c.completed, Annotations: c.annotations, Actions: c.actions,
	}
}

func runsAt(r *repository, sha git.ID) []runRow {
	var rows []runRow
	for _, c := range r.latestChecks(sha) {
		rows = append(rows, rowOf(c))
	}
	return rows
}

func (s *Server) runPage(w http.ResponseWriter, req *http.Request, r *repository) {
	id, err := strconv.ParseInt(req.PathValue("id"), 10, 64)
	c := r.check(id)
	if err != nil || c == nil {
		s.fail(w, http.StatusNotFound, "There is no such check run.")
		return
	}
	s.show(w, "run", page{Title: c.name, Data: object{"Name": r.fullName(), "Run": rowOf(c)}}, "")
}

func (s *Server) commitPage(w http.ResponseWriter, req *http.Request, r *repository) {
	id := s.resolve(r, req.PathValue("sha"))
	if id == "" {
		s.fail(w, http.StatusNotFound, "There is no such commit.")
		return
	}
	c, err := r.git.Commit(s.ctx, id)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	data := object{"Name": r.fullName(), "Commit": c, "At": time.Unix(c.Committer.When.Unix, 0), "Checks": runsAt(r, id), "Verified": r.signed[id]}
	if len(c.Parents) > 0 {
		cmp, err := r.git.Compare(s.ctx, c.Parents[0], id)
		if err == nil {
			data["Files"], err = cmp.Files(s.ctx)
		}
		if err != nil {
			s.fail(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	headline, _, _ := strings.Cut(c.Message, "\n")
	s.show(w, "commit", page{Title: headline, Data: data}, "")
}

// appBySlug finds an App by the name in its address.
func (s *Server) appBySlug(slug string) *app {
	for _, a := range s.apps {
		if a.slug == slug {
			return a
		}
	}
	return nil
}

func (s *Server) installPage(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.appBySlug(req.PathValue("slug"))
	if a == nil {
		s.fail(w, http.StatusNotFound, "There is no such App.")
		return
	}
	var accounts []string
	for _, r := range s.repositories {
		if !slices.Contains(accounts, r.owner.login) {
			accounts = append(accounts, r.owner.login)
		}
	}
	slices.Sort(accounts)
	s.show(w, "install", page{Title: "Install " + a.name, Data: object{"Slug": a.slug, "Permissions": a.permissions, "Events": a.events, "Accounts": accounts}}, "")
}

func (s *Server) installHere(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	a := s.appBySlug(req.PathValue("slug"))
	s.mu.Unlock()
	if a == nil {
		s.fail(w, http.StatusNotFound, "There is no such App.")
		return
	}
	if _, err := s.Install(a.id, req.FormValue("account")); err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	http.Redirect(w, req, "/", http.StatusSeeOther)
}
