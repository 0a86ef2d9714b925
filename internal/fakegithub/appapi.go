package fakegithub

import (
	"net/http"
	"slices"
	"time"
)

func (c *call) getApp() reply {
	v := c.appView(c.caller.app).(object)
	v["installations_count"] = len(c.installationsOf(c.caller.app))
	return ok(v)
}

func (s *Server) installationsOf(a *app) []*installation {
	var list []*installation
	for _, i := range s.installations {
		if i.app == a && !i.gone {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b *installation) int { return int(a.id - b.id) })
	return list
}

func (c *call) listInstallations() reply {
	views := []any{}
	for _, i := range paged(c, c.installationsOf(c.caller.app)) {
		views = append(views, c.installationView(i))
	}
	return ok(views)
}

// ownInstallation is the installation of the path, if it is the App's.
func (c *call) ownInstallation() *installation {
	i := c.installations[c.number("installation_id")]
	if i == nil || i.gone || i.app != c.caller.app {
		return nil
	}
	return i
}

func (c *call) getInstallation() reply {
	i := c.ownInstallation()
	if i == nil {
		return notFound()
	}
	return ok(c.installationView(i))
}

func (c *call) repositoryInstallation() reply {
	for _, i := range c.installationsOf(c.caller.app) {
		if i.covers(c.repo) {
			return ok(c.installationView(i))
		}
	}
	return notFound()
}

func (c *call) accountInstallation() reply {
	for _, i := range c.installationsOf(c.caller.app) {
		if fold(i.account.login) == fold(c.args["account"]) {
			return ok(c.installationView(i))
		}
	}
	return notFound()
}

func (c *call) deleteInstallation() reply {
	i := c.ownInstallation()
	if i == nil {
		return notFound()
	}
	c.uninstall(i, c.caller.account())
	return empty()
}

func (c *call) suspendInstallation() reply {
	i := c.ownInstallation()
	if i == nil {
		return notFound()
	}
	c.suspend(i, c.caller.account(), true)
	return empty()
}

func (c *call) unsuspendInstallation() reply {
	i := c.ownInstallation()
	if i == nil {
		return notFound()
	}
	c.suspend(i, c.caller.account(), false)
	return empty()
}

// tokenLife is how long an installation's token holds
// (docs.github.com, generating an installation access token).
const tokenLife = time.Hour

type tokenRequest struct {
	Repositories  []string    `json:"repositories"`
	RepositoryIDs []int64     `json:"repository_ids"`
	Permissions   permissions `json:"permissions"`
}

func (c *call) createToken() reply {
	i := c.ownInstallation()
	if i == nil {
		return notFound()
	}
	if !i.suspended.IsZero() {
		return refuse(http.StatusForbidden, "This installation has been suspended")
	}
	in, bad := decode[tokenRequest](c)
	if bad != nil {
		return *bad
	}
	t := &token{
		value: "ghs_" + c.word(36, alphanumeric), installation: i,
		permissions: i.permissions, expires: c.clock().Add(tokenLife),
	}
	wanted := []*repository{}
	for _, name := range in.Repositories {
		r, _ := c.lookup(i.account.login, name)
		wanted = append(wanted, r)
	}
	for _, id := range in.RepositoryIDs {
		wanted = append(wanted, c.repositories[id])
	}
	for _, r := range wanted {
		if r == nil || !i.covers(r) {
			return refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
		if t.repositories == nil {
			t.repositories = map[int64]bool{}
		}
		t.repositories[r.id] = true
	}
	if len(in.Permissions) > 0 {
		for scope, level := range in.Permissions {
			if !i.permissions.has(level, scope) {
				return refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
		}
		t.permissions = in.Permissions
	}
	c.tokens[t.value] = t
	v := object{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.permissions, "repository_selection": "all"}
	if t.repositories != nil || i.repositories != nil {
		v["repository_selection"] = "selected"
	}
	if t.repositories != nil {
		views := []any{}
		for _, r := range wanted {
			views = append(views, c.repositoryView(r))
		}
		v["repositories"] = views
	}
	return created(v)
}

func (c *call) revokeToken() reply {
	delete(c.tokens, c.caller.token.value)
	return empty()
}

func (c *call) installationRepositories() reply {
	var list []*repository
	for _, r := range c.repositories {
		if c.caller.token.covers(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *repository) int { return int(a.id - b.id) })
	views := []any{}
	for _, r := range paged(c, list) {
		views = append(views, c.repositoryView(r))
	}
	return ok(object{"total_count": len(list), "repositories": views})
}

func (c *call) getHookConfig() reply {
	return ok(c.hookConfig(c.caller.app))
}

func (s *Server) hookConfig(a *app) object {
	v := object{"content_type": "json", "insecure_ssl": "0", "url": a.hookURL}
	if a.secret != "" {
		v["secret"] = "********"
	}
	return v
}

func (c *call) patchHookConfig() reply {
	in, bad := decode[struct {
		URL    *string `json:"url"`
		Secret *string `json:"secret"`
	}](c)
	if bad != nil {
		return *bad
	}
	a := c.caller.app
	if in.URL != nil {
		a.hookURL = *in.URL
	}
	if in.Secret != nil {
		a.secret = *in.Secret
	}
	return ok(c.hookConfig(a))
}

func (c *call) rateLimit() reply {
	q := c.quotaOf(c.caller)
	if q == nil {
		q = &quota{}
	}
	q.roll(c.now())
	rate := object{"limit": hourly, "used": q.used, "remaining": hourly - q.used, "reset": q.start.Add(time.Hour).Unix(), "resource": "core"}
	return ok(object{"resources": object{"core": rate, "search": rate, "graphql": rate}, "rate": rate})
}

func (c *call) getUser() reply {
	a := c.accounts[fold(c.args["username"])]
	if a == nil {
		return notFound()
	}
	v := c.userView(a).(object)
	for _, k := range []string{"bio", "blog", "company", "hireable", "location"} {
		v[k] = nil
	}
	v["blog"], v["name"], v["email"] = "", orNull(a.name), orNull(a.email)
	v["public_repos"], v["public_gists"], v["followers"], v["following"] = 0, 0, 0, 0
	v["created_at"], v["updated_at"] = stamp(a.created), stamp(a.created)
	return ok(v)
}

// isMember answers 302, to who is publicly a member, those who may not know more.
func (c *call) isMember() reply {
	org := c.accounts[fold(c.args["org"])]
	if org == nil || org.kind != kindOrganization {
		return notFound()
	}
	t := c.caller.token
	insider := t.account != nil && org.members[fold(t.account.login)]
	if t.installation != nil {
		insider = t.installation.account == org && t.permissions.has("read", "members")
	}
	switch {
	case !insider:
		at := c.api("/orgs/%s/public_members/%s", org.login, pathEscape(c.args["username"]))
		return reply{status: http.StatusFound, header: http.Header{"Location": {at}}}
	case org.members[fold(c.args["username"])]:
		return empty()
	}
	return notFound()
}

// convertManifest ends the flow in which a person registers an App from a manifest:
// the code, good once and for an hour, becomes the App with its secrets.
func (c *call) convertManifest() reply {
	m, found := c.manifests[c.args["code"]]
	delete(c.manifests, c.args["code"])
	if !found || c.now().Sub(m.at) > time.Hour {
		return notFound()
	}
	v := c.appView(m.app).(object)
	v["client_id"], v["client_secret"], v["webhook_secret"] = m.app.clientID, m.app.clientSecret, orNull(m.app.secret)
	v["pem"] = string(encodeKey(m.app.key))
	return created(v)
}
