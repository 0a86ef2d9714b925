package fakegithub

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
)

//go:embed pages
var pageFiles embed.FS

// page is what every page shows, and its own data.
type page struct {
	Title string
	Data  any
}

// newPages serves plain pages, for a person to click through. Text of repositories is
// only ever text: templates escape it, and the policy lets no script run.
func (s *Server) newPages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.homePage)
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		http.ServeFileFS(w, req, pageFiles, "pages/style.css")
	})
	mux.HandleFunc("GET /{owner}/{repo}", s.onRepository(s.repositoryPage))
	mux.HandleFunc("GET /{owner}/{repo}/pulls", s.onRepository(s.repositoryPage))
	mux.HandleFunc("GET /{owner}/{repo}/pull/{number}", s.onRepository(s.pullPage))
	mux.HandleFunc("GET /{owner}/{repo}/issues/{number}", s.onRepository(s.pullPage))
	mux.HandleFunc("GET /{owner}/{repo}/runs/{id}", s.onRepository(s.runPage))
	mux.HandleFunc("GET /{owner}/{repo}/commit/{sha}", s.onRepository(s.commitPage))
	mux.HandleFunc("POST /settings/apps/new", s.newApp)
	mux.HandleFunc("POST /settings/apps/new/confirm", s.confirmApp)
	mux.HandleFunc("POST /organizations/{org}/settings/apps/new", s.newApp)
	mux.HandleFunc("POST /organizations/{org}/settings/apps/new/confirm", s.confirmApp)
	mux.HandleFunc("GET /apps/{slug}/installations/new", s.installPage)
	mux.HandleFunc("POST /apps/{slug}/installations/new", s.installHere)
	guard := http.NewCrossOriginProtection()
	// As on GitHub, the form of a manifest comes from its maker's own page.
	guard.AddInsecureBypassPattern("POST /settings/apps/new")
	guard.AddInsecureBypassPattern("POST /organizations/{org}/settings/apps/new")
	return guard.Handler(mux)
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04:05") },
	"short": func(v any) string {
		s := fmt.Sprint(v)
		return s[:min(len(s), 7)]
	},
	"lines": func(s string) []diffLine {
		var list []diffLine
		for line := range strings.SplitSeq(s, "\n") {
			kind := "same"
			switch {
			case strings.HasPrefix(line, "+"):
				kind = "add"
			case strings.HasPrefix(line, "-"):
				kind = "del"
			case strings.HasPrefix(line, "@@"):
				kind = "hunk"
			}
			list = append(list, diffLine{kind, line})
		}
		return list
	},
}).ParseFS(pageFiles, "pages/*.html"))

type diffLine struct{ Kind, Text string }

// show renders a page. A form on it may lead to another site only if that is named.
func (s *Server) show(w http.ResponseWriter, name string, p page, redirect string) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	forms := "'self'"
	if u, err := url.Parse(redirect); err == nil && u.Host != "" && !strings.ContainsAny(u.Host, "; ,'\"") {
		forms += " " + u.Scheme + "://" + u.Host
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action "+forms)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.Write(b.Bytes()) //nolint:errcheck // a client that left sees nothing
}

func (s *Server) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, message, status)
}

func (s *Server) homePage(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		Name         string
		Private      bool
		Open, Closed int
	}
	s.mu.Lock()
	var rows []row
	for _, r := range s.repositories {
		one := row{Name: r.fullName(), Private: r.private}
		for _, i := range r.issues {
			if i.closed {
				one.Closed++
			} else {
				one.Open++
			}
		}
		rows = append(rows, one)
	}
	s.mu.Unlock()
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	s.show(w, "home", page{Title: "Repositories", Data: rows}, "")
}

// onRepository finds the repository of a page, under the mutex. Pages are for whoever
// runs the simulation: private ones are shown too.
func (s *Server) onRepository(show func(w http.ResponseWriter, req *http.Request, r *repository)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r, moved := s.lookup(req.PathValue("owner"), req.PathValue("repo"))
		switch {
		case r == nil:
			s.fail(w, http.StatusNotFound, "There is no such repository.")
		case moved:
			rest := strings.SplitN(strings.TrimPrefix(req.URL.EscapedPath(), "/"), "/", 3)
			to := "/" + r.fullName()
			if len(rest) == 3 {
				to += "/" + rest[2]
			}
			http.Redirect(w, req, to, http.StatusMovedPermanently)
		default:
			show(w, req, r)
		}
	}
}

// pullRow is a pull request or issue in a list.
type pullRow struct {
	Repository                  string
	Number                      int
	Title, State, Author, Check string
	Head, Base                  string
	Labels                      []string
	Updated                     time.Time
}

func (s *Server) row(r *repository, i *issue) pullRow {
	row := pullRow{Repository: r.fullName(), Number: i.number, Title: i.title, Author: i.user.login, Updated: i.updated, State: "open"}
	if i.closed {
		row.State = "closed"
	}
	for _, l := range i.labels {
		row.Labels = append(row.Labels, l.name)
	}
	if i.pull != nil {
		row.State, row.Head, row.Base = fold(i.state()), i.pull.head.ref, i.pull.base
		state, _ := r.rollup(i.pull.head.sha)
		row.Check = fold(state)
	}
	return row
}

func (s *Server) repositoryPage(w http.ResponseWriter, _ *http.Request, r *repository) {
	var open, closed []pullRow
	for _, i := range slices.Backward(r.sortedIssues()) {
		if i.closed {
			closed = append(closed, s.row(r, i))
		} else {
			open = append(open, s.row(r, i))
		}
	}
	branches := map[string]any{}
	for ref, id := range r.refs {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			branches[name] = id
		}
	}
	s.show(w, "repository", page{Title: r.fullName(), Data: object{
		"Name": r.fullName(), "Open": open, "Closed": closed, "Branches": branches, "Default": r.defaultBranch, "Clone": s.repositoryHTML(r) + ".git",
	}}, "")
}

func (s *Server) pullPage(w http.ResponseWriter, req *http.Request, r *repository) {
	number, err := strconv.Atoi(req.PathValue("number"))
	i := r.issues[number]
	if err != nil || i == nil {
		s.fail(w, http.StatusNotFound, "There is no such pull request.")
		return
	}
	data := object{"Name": r.fullName(), "Row": s.row(r, i), "Body": i.body, "Comments": commentsOf(i), "Created": i.created}
	if i.pull != nil {
		var cmp *bare.Comparison
		if cmp, err = s.comparison(r, i); err == nil {
			data["Commits"] = cmp.Ahead
			data["Files"], err = cmp.Files(s.ctx)
		}
		data["Checks"], data["Statuses"] = runsAt(r, i.pull.head.sha), r.latestStatuses(i.pull.head.sha)
		data["HeadSHA"] = i.pull.head.sha
		if clean, known := s.mergeable(r, i); known {
			data["Mergeable"] = map[bool]string{true: "can be merged", false: "has conflicts"}[clean]
		}
	}
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.show(w, "pull", page{Title: fmt.Sprintf("#%d %s", i.number, i.title), Data: data}, "")
}
