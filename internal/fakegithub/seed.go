package fakegithub

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

var (
	// ErrNotFound says that a test names what was not seeded.
	ErrNotFound = errors.New("the simulated GitHub has no such thing")
	// ErrRefused says that GitHub would not do that.
	ErrRefused = errors.New("GitHub refuses this")
)

// Logins may have what GitHub's have, and "[bot]" at the end.
var goodLogin = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:\[bot\])?$`)
var goodName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// User makes a person (or a bot, if login ends in "[bot]"), once.
func (s *Server) User(login string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := kindUser
	if strings.HasSuffix(login, "[bot]") {
		kind = kindBot
	}
	_, err := s.account(login, kind)
	return err
}

// Organization makes an organisation with members.
func (s *Server) Organization(login string, members ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(login, kindOrganization)
	if err != nil {
		return err
	}
	for _, m := range members {
		if _, err := s.account(m, kindUser); err != nil {
			return err
		}
		a.members[fold(m)] = true
	}
	return nil
}

func (s *Server) account(login, kind string) (*account, error) {
	if a := s.accounts[fold(login)]; a != nil {
		return a, nil
	}
	if !goodLogin.MatchString(login) {
		return nil, fmt.Errorf("login %q: want letters, digits and hyphens", login)
	}
	id := s.nextID()
	a := &account{
		id: id, login: login, name: login, email: fmt.Sprintf("%d+%s@users.noreply.github.com", id, login),
		kind: kind, created: s.now(), members: map[string]bool{},
	}
	s.accounts[fold(login)] = a
	return a, nil
}

// person finds an account that acts.
func (s *Server) person(login string) (*account, error) {
	if a := s.accounts[fold(login)]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("%w: account %q", ErrNotFound, login)
}

// UserToken gives a token of a person, who may do what their roles allow.
func (s *Server) UserToken(login string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.person(login)
	if err != nil {
		return "", err
	}
	t := &token{value: "ghp_" + s.word(36, alphanumeric), account: a, quota: &quota{}}
	s.tokens[t.value] = t
	return t.value, nil
}

// AppSpec says which App to make.
type AppSpec struct {
	Name        string // its slug is the name in lower case with hyphens
	Owner       string // an account; made if it is not there
	HookURL     string // empty: no webhooks
	Secret      string // of the webhooks
	Events      []string
	Permissions map[string]string // scope -> read, write or admin
	// Key signs its JWTs. Nil: a new one of 2048 bits, which takes a while.
	Key *rsa.PrivateKey
}

// App is what its operator keeps of an App.
type App struct {
	ID   int64
	Slug string
	// Key is the private key in PEM.
	Key []byte
}

// Login is the name that the App acts under.
func (a App) Login() string { return a.Slug + "[bot]" }

// App makes one.
func (s *Server) App(spec AppSpec) (App, error) {
	if spec.Key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return App{}, err
		}
		spec.Key = key
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.register(spec)
	if err != nil {
		return App{}, err
	}
	return App{ID: a.id, Slug: a.slug, Key: encodeKey(a.key)}, nil
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func (s *Server) register(spec AppSpec) (*app, error) {
	slug := strings.Trim(notSlug.ReplaceAllString(fold(spec.Name), "-"), "-")
	owner, err := s.account(spec.Owner, kindUser)
	if err != nil {
		return nil, err
	}
	if s.accounts[slug+"[bot]"] != nil {
		return nil, fmt.Errorf("%w: the name %q is taken", ErrRefused, spec.Name)
	}
	bot, err := s.account(slug+"[bot]", kindBot)
	if err != nil {
		return nil, err
	}
	for scope, level := range spec.Permissions {
		if !slices.Contains(levels, level) {
			return nil, fmt.Errorf("permission %s: %q is none of %v", scope, level, levels)
		}
	}
	a := &app{
		id: s.nextID(), slug: slug, name: spec.Name, owner: owner, bot: bot, key: spec.Key, hookURL: spec.HookURL, secret: spec.Secret,
		events: slices.Clone(spec.Events), permissions: maps.Clone(spec.Permissions), created: s.now(), external: s.html("/apps/%s", slug),
		clientID: "Iv23" + s.word(16, alphanumeric), clientSecret: s.word(40, hexDigits),
	}
	if a.permissions == nil {
		a.permissions = permissions{}
	}
	a.permissions["metadata"] = "read"
	s.apps[a.id] = a
	return a, nil
}

func encodeKey(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// SetHook says where an App's webhooks go from now on.
func (s *Server) SetHook(appID int64, url, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[appID]
	if a == nil {
		return fmt.Errorf("%w: App %d", ErrNotFound, appID)
	}
	a.hookURL, a.secret = url, secret
	return nil
}

// Install puts an App on an account, with all its repositories or only the named ones
// (without their owner), and gives the installation's number.
func (s *Server) Install(appID int64, login string, repositories ...string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[appID]
	if a == nil {
		return 0, fmt.Errorf("%w: App %d", ErrNotFound, appID)
	}
	owner, err := s.person(login)
	if err != nil {
		return 0, err
	}
	for _, i := range s.installationsOf(a) {
		if i.account == owner {
			return 0, fmt.Errorf("%w: %s is installed on %s already", ErrRefused, a.slug, login)
		}
	}
	i := &installation{
		id: s.nextID(), app: a, account: owner, created: s.now(),
		permissions: maps.Clone(a.permissions), events: slices.Clone(a.events),
	}
	for _, name := range repositories {
		r, _ := s.lookup(login, name)
		if r == nil {
			return 0, fmt.Errorf("%w: repository %s/%s", ErrNotFound, login, name)
		}
		if i.repositories == nil {
			i.repositories = map[int64]bool{}
		}
		i.repositories[r.id] = true
	}
	s.installations[i.id] = i
	s.emitInstallation(i, "created", owner)
	return i.id, nil
}

func (s *Server) installation(id int64) (*installation, error) {
	i := s.installations[id]
	if i == nil || i.gone {
		return nil, fmt.Errorf("%w: installation %d", ErrNotFound, id)
	}
	return i, nil
}

// SetPermissions changes what an installation may do: an owner who has not accepted
// what an App newly asks for, or has. Tokens that exist keep what they had.
func (s *Server) SetPermissions(installation int64, p map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.installation(installation)
	if err != nil {
		return err
	}
	i.permissions = maps.Clone(p)
	s.emitInstallation(i, "new_permissions_accepted", i.account)
	return nil
}

// Suspend stops an installation until Unsuspend.
func (s *Server) Suspend(installation int64) error { return s.setSuspended(installation, true) }

// Unsuspend lets it go on.
func (s *Server) Unsuspend(installation int64) error { return s.setSuspended(installation, false) }

func (s *Server) setSuspended(id int64, yes bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.installation(id)
	if err != nil {
		return err
	}
	s.suspend(i, i.account, yes)
	return nil
}

func (s *Server) suspend(i *installation, by *account, yes bool) {
	if yes == !i.suspended.IsZero() {
		return
	}
	if yes {
		i.suspended, i.suspendedBy = s.now(), by
		s.emitInstallation(i, "suspend", by)
		return
	}
	i.suspended, i.suspendedBy = time.Time{}, nil
	s.emitInstallation(i, "unsuspend", by)
}

// Uninstall removes an installation: its tokens are worth nothing any more.
func (s *Server) Uninstall(installation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.installation(installation)
	if err != nil {
		return err
	}
	s.uninstall(i, i.account)
	return nil
}

func (s *Server) uninstall(i *installation, by *account) {
	s.emitInstallation(i, "deleted", by)
	i.gone = true
}

// RepositorySpec says which repository to make.
type RepositorySpec struct {
	Name          string // OWNER/NAME; the owner is made if it is not there
	Private       bool
	NoIssues      bool
	DefaultBranch string            // empty: main
	From          string            // a repository on this machine whose branches are taken
	Files         map[string]string // a first commit on the default branch
	Roles         map[string]string // login -> read, triage, write, maintain, admin
	DeleteBranch  bool              // of a pull request that was merged
}

// Repository makes one.
func (s *Server) Repository(spec RepositorySpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.newRepository(spec)
	if err != nil {
		return err
	}
	if spec.From != "" {
		if err := r.git.Fetch(s.ctx, spec.From); err != nil {
			return err
		}
		if r.refs, err = r.git.Refs(s.ctx); err != nil {
			return err
		}
	}
	if len(spec.Files) > 0 {
		_, err := s.commit(r, CommitSpec{Branch: r.defaultBranch, Files: spec.Files, Message: "Initial commit", As: r.owner.login})
		return err
	}
	return nil
}

func (s *Server) newRepository(spec RepositorySpec) (*repository, error) {
	owner, name, _ := strings.Cut(spec.Name, "/")
	if !goodName.MatchString(name) || name == "." || name == ".." || strings.HasSuffix(name, ".git") {
		return nil, fmt.Errorf("repository %q: want OWNER/NAME of letters, digits, dots, hyphens and underscores", spec.Name)
	}
	if s.names[fold(spec.Name)] != 0 {
		return nil, fmt.Errorf("%w: repository %s is there already", ErrRefused, spec.Name)
	}
	a, err := s.account(owner, kindUser)
	if err != nil {
		return nil, err
	}
	if spec.DefaultBranch == "" {
		spec.DefaultBranch = "main"
	}
	r := &repository{
		id: s.nextID(), owner: a, name: name, private: spec.Private, noIssues: spec.NoIssues, defaultBranch: spec.DefaultBranch,
		created: s.now(), updated: s.now(), pushed: s.now(), deleteBranchOnMerge: spec.DeleteBranch,
		roles: map[string]string{}, refs: map[string]git.ID{}, signed: map[git.ID]bool{},
		issues: map[int]*issue{}, labels: map[string]*label{}, protections: map[string]*Protection{},
	}
	for login, role := range spec.Roles {
		if err := s.setRole(r, login, role); err != nil {
			return nil, err
		}
	}
	if r.git, err = bare.Init(s.ctx, filepath.Join(s.dir, strconv.FormatInt(r.id, 10)+".git"), r.defaultBranch); err != nil {
		return nil, err
	}
	s.repositories[r.id] = r
	s.names[fold(r.fullName())] = r.id
	return r, nil
}

// SetRole makes a person a collaborator (empty: no longer one).
func (s *Server) SetRole(repository, login, role string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return err
	}
	return s.setRole(r, login, role)
}

func (s *Server) setRole(r *repository, login, role string) error {
	if !slices.Contains(roles, role) {
		return fmt.Errorf("role %q is none of %v", role, roles[1:])
	}
	if _, err := s.account(login, kindUser); err != nil {
		return err
	}
	r.roles[fold(login)] = role
	return nil
}

// repository finds one by its present name.
func (s *Server) repository(name string) (*repository, error) {
	owner, short, _ := strings.Cut(name, "/")
	if r, moved := s.lookup(owner, short); r != nil && !moved {
		return r, nil
	}
	return nil, fmt.Errorf("%w: repository %q", ErrNotFound, name)
}

// GitDir is the bare repository's folder, to look at.
func (s *Server) GitDir(repository string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return "", err
	}
	return r.git.Dir, nil
}
