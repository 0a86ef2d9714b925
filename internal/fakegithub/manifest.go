package fakegithub

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// manifestCode is an App that was made from a manifest and waits for its maker to
// fetch its secrets.
type manifestCode struct {
	app *app
	at  time.Time
}

// appManifest is what a maker posts (docs.github.com, registering a GitHub App from a
// manifest).
type appManifest struct {
	Name           string            `json:"name"`
	URL            string            `json:"url"`
	RedirectURL    string            `json:"redirect_url"`
	Description    string            `json:"description"`
	Public         bool              `json:"public"`
	Events         []string          `json:"default_events"`
	Permissions    map[string]string `json:"default_permissions"`
	HookAttributes struct {
		URL string `json:"url"`
	} `json:"hook_attributes"`
}

func parseManifest(text string) (appManifest, error) {
	var m appManifest
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("the manifest is not JSON: %w", err)
	}
	switch {
	case m.Name == "":
		return m, fmt.Errorf("the manifest has no name")
	case !webAddress(m.URL):
		return m, fmt.Errorf("the manifest's url is no web address")
	case !webAddress(m.RedirectURL):
		return m, fmt.Errorf("the manifest's redirect_url is no web address")
	}
	return m, nil
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// ConvertManifest makes an App from a manifest as a person who presses the button does,
// and gives the address that the browser is sent back to.
func (s *Server) ConvertManifest(manifest, owner, state string) (redirect string, err error) {
	m, err := parseManifest(manifest)
	if err != nil {
		return "", err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.register(AppSpec{
		Name: m.Name, Owner: owner, HookURL: m.HookAttributes.URL, Secret: s.word(40, hexDigits), Events: m.Events, Permissions: m.Permissions, Key: key,
	})
	if err != nil {
		return "", err
	}
	a.description, a.external = m.Description, m.URL
	code := s.word(40, hexDigits)
	s.manifests[code] = manifestCode{app: a, at: s.now()}
	to, err := url.Parse(m.RedirectURL)
	if err != nil {
		return "", err
	}
	query := to.Query()
	query.Set("code", code)
	if state != "" {
		query.Set("state", state)
	}
	to.RawQuery = query.Encode()
	return to.String(), nil
}

// newApp shows a manifest before it becomes an App. The form may come from anywhere:
// nothing happens before the person presses the button on this page.
func (s *Server) newApp(w http.ResponseWriter, req *http.Request) {
	text, owner := req.FormValue("manifest"), owner(req)
	m, err := parseManifest(text)
	if err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	s.show(w, "newapp", page{Title: "Create GitHub App for " + owner, Data: object{
		"Manifest": m, "Text": text, "Owner": owner, "State": req.FormValue("state"), "Action": req.URL.Path + "/confirm",
	}}, m.RedirectURL)
}

func (s *Server) confirmApp(w http.ResponseWriter, req *http.Request) {
	to, err := s.ConvertManifest(req.FormValue("manifest"), owner(req), req.FormValue("state"))
	if err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	http.Redirect(w, req, to, http.StatusFound)
}

// owner is whose App a form makes: an organisation of the path, or the person who is
// there anyway.
func owner(req *http.Request) string {
	if org := req.PathValue("org"); org != "" {
		return org
	}
	return "octocat"
}
