package fakegithub

import (
	"crypto/rsa"
	"strings"
	"sync"
	"time"

	"github.com/bailiff-bot/bailiff/internal/fakegithub/bare"
	"github.com/bailiff-bot/bailiff/internal/git"
)

// kind of account.
const (
	kindUser         = "User"
	kindOrganization = "Organization"
	kindBot          = "Bot"
)

type account struct {
	id                 int64
	login, name, email string
	kind               string
	created            time.Time
	members            map[string]bool // logins in lower case, of an organisation
}

type app struct {
	id                      int64
	slug, name, description string
	external                string // the App's home page
	owner, bot              *account
	key                     *rsa.PrivateKey
	hookURL, secret         string
	clientID, clientSecret  string
	events                  []string
	permissions             permissions
	created                 time.Time
}

// permissions by scope: read, write or admin.
type permissions map[string]string

type installation struct {
	id           int64
	app          *app
	account      *account
	repositories map[int64]bool // nil: all of the account
	permissions  permissions
	events       []string
	created      time.Time
	suspended    time.Time // zero: it is not
	suspendedBy  *account
	gone         bool
	quota        quota
}

// quota is a primary rate limit in its present hour.
type quota struct {
	start time.Time
	used  int
}

// token is an installation's or, with an account, a person's.
type token struct {
	value        string
	installation *installation
	account      *account
	repositories map[int64]bool // nil: all of the installation
	permissions  permissions
	expires      time.Time // zero: never
	quota        *quota
}

type repository struct {
	id                       int64
	owner                    *account
	name, description        string
	private, archived        bool
	noIssues                 bool
	defaultBranch            string
	created, updated, pushed time.Time
	roles                    map[string]string // login in lower case -> role
	fork                     *repository       // what it was forked from
	git                      *bare.Repo
	pushing                  sync.Mutex // one push at a time
	refs                     map[string]git.ID
	signed                   map[git.ID]bool // commits that GitHub signed
	lastNumber               int
	issues                   map[int]*issue
	labels                   map[string]*label // by name in lower case
	suites                   []*suite
	checks                   []*checkRun
	statuses                 []*status
	protections              map[string]*Protection
	deleteBranchOnMerge      bool
}

func (r *repository) fullName() string { return r.owner.login + "/" + r.name }

// branch is where a branch stands, empty if there is none.
func (r *repository) branch(name string) git.ID { return r.refs["refs/heads/"+name] }

type label struct {
	id                       int64
	name, color, description string
}

// issue is an issue or, with pull, a pull request.
type issue struct {
	id                         int64
	number                     int
	user                       *account
	app                        *app // that opened it
	title, body                string
	closed, locked             bool
	created, updated, closedAt time.Time
	labels                     []*label
	comments                   []*comment
	reactions                  []*reaction
	pull                       *pull
}

type pull struct {
	head                pullSide
	base                string // a branch
	draft               bool
	merged              bool
	mergedAt            time.Time
	mergedBy            *account
	mergeCommit         git.ID
	baseSHA             git.ID // when it was merged or closed
	reviews             []*review
	looked              [2]git.ID // of LazyMergeability
	maintainerCanModify bool
}

// pullSide is where a pull request comes from. The repository is nil when it was
// deleted.
type pullSide struct {
	repository *repository
	owner      *account
	ref        string
	sha        git.ID
}

type comment struct {
	id               int64
	user             *account
	app              *app
	body             string
	created, updated time.Time
	reactions        []*reaction
}

type reaction struct {
	id      int64
	user    *account
	content string
	created time.Time
}

type review struct {
	id          int64
	user        *account
	state, body string
	commit      git.ID
	submitted   time.Time
}

type suite struct {
	id               int64
	app              *app
	sha              git.ID
	before           git.ID
	branch           string
	created, updated time.Time
}

type checkRun struct {
	id                           int64
	suite                        *suite
	name, externalID, detailsURL string
	status, conclusion           string
	started, completed           time.Time
	title, summary, text         string
	hasOutput                    bool
	annotations                  []annotation
	actions                      []checkAction
}

type annotation struct {
	Path            string `json:"path"`
	StartLine       int    `json:"start_line"`
	EndLine         int    `json:"end_line"`
	StartColumn     *int   `json:"start_column"`
	EndColumn       *int   `json:"end_column"`
	AnnotationLevel string `json:"annotation_level"`
	Message         string `json:"message"`
	Title           string `json:"title"`
	RawDetails      string `json:"raw_details"`
}

type checkAction struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

type status struct {
	id                          int64
	sha                         git.ID
	context, state, description string
	target                      string
	user                        *account
	created                     time.Time
}

// Protection is what a branch asks for. The zero value only forbids to force-push and
// to delete it.
type Protection struct {
	// RequiredChecks are names of check runs or contexts of statuses.
	RequiredChecks []string
	// Strict: the head must have the base's commits.
	Strict bool
	// RequiredSignatures: every commit must be signed.
	RequiredSignatures bool
	// RequiredReviews that approve; zero: none.
	RequiredReviews int
	// PullRequestsOnly: nobody pushes to it.
	PullRequestsOnly bool
	// EnforceAdmins: what holds for others holds for administrators.
	EnforceAdmins bool
	// AllowForcePushes and AllowDeletions lift what the zero value forbids.
	AllowForcePushes, AllowDeletions bool
}

func fold(s string) string { return strings.ToLower(s) }
