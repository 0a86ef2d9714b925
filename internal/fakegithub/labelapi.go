package fakegithub

import (
	"encoding/json"
	"slices"
)

func (i *issue) hasLabel(name string) bool {
	return slices.ContainsFunc(i.labels, func(l *label) bool { return fold(l.name) == fold(name) })
}

// label finds a repository's label, or makes it, as GitHub does when one is added to
// an issue.
func (s *Server) label(r *repository, name string) *label {
	l := r.labels[fold(name)]
	if l == nil {
		l = &label{id: s.nextID(), name: name, color: "ededed"}
		r.labels[fold(name)] = l
	}
	return l
}

func (s *Server) addLabel(r *repository, i *issue, name string, by *account) {
	if i.hasLabel(name) {
		return
	}
	l := s.label(r, name)
	i.labels = append(i.labels, l)
	s.labelled(r, i, l, "labeled", by)
}

func (s *Server) removeLabel(r *repository, i *issue, l *label, by *account) {
	i.labels = slices.DeleteFunc(i.labels, func(x *label) bool { return x == l })
	s.labelled(r, i, l, "unlabeled", by)
}

func (s *Server) labelled(r *repository, i *issue, l *label, action string, by *account) {
	i.updated = s.now()
	more := object{"label": s.labelView(r, l)}
	if i.pull != nil {
		s.emitPull(r, i, action, by, more)
		return
	}
	more["action"], more["issue"] = action, s.issueView(r, i)
	s.emit(r, "issues", by, more, nil)
}

func (c *call) listLabels() reply {
	list := []*label{}
	for _, l := range c.repo.labels {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *label) int { return int(a.id - b.id) })
	return ok(c.labelViews(c.repo, paged(c, list)))
}

type labelRequest struct {
	Name        string  `json:"name"`
	NewName     string  `json:"new_name"`
	Color       string  `json:"color"`
	Description *string `json:"description"`
}

func (c *call) createLabel() reply {
	in, bad := decode[labelRequest](c)
	if bad != nil {
		return *bad
	}
	if in.Name == "" {
		return invalid("Label", "name", "missing_field", "")
	}
	if c.repo.labels[fold(in.Name)] != nil {
		return invalid("Label", "name", "already_exists", "")
	}
	l := c.label(c.repo, in.Name)
	c.paint(l, in)
	return created(c.labelView(c.repo, l))
}

func (s *Server) paint(l *label, in labelRequest) {
	if in.Color != "" {
		l.color = in.Color
	}
	if in.Description != nil {
		l.description = *in.Description
	}
}

func (c *call) getLabel() reply {
	l := c.repo.labels[fold(c.args["name"])]
	if l == nil {
		return notFound()
	}
	return ok(c.labelView(c.repo, l))
}

func (c *call) updateLabel() reply {
	l := c.repo.labels[fold(c.args["name"])]
	if l == nil {
		return notFound()
	}
	in, bad := decode[labelRequest](c)
	if bad != nil {
		return *bad
	}
	if in.NewName != "" {
		delete(c.repo.labels, fold(l.name))
		l.name = in.NewName
		c.repo.labels[fold(l.name)] = l
	}
	c.paint(l, in)
	return ok(c.labelView(c.repo, l))
}

func (c *call) deleteLabel() reply {
	l := c.repo.labels[fold(c.args["name"])]
	if l == nil {
		return notFound()
	}
	delete(c.repo.labels, fold(l.name))
	for _, i := range c.repo.issues {
		i.labels = slices.DeleteFunc(i.labels, func(x *label) bool { return x == l })
	}
	return empty()
}

// labelNames reads {"labels": [...]} or, from old clients, a bare array.
func (c *call) labelNames() ([]string, *reply) {
	var bare []string
	if json.Unmarshal(c.body, &bare) == nil {
		return bare, nil
	}
	in, bad := decode[struct {
		Labels []string `json:"labels"`
	}](c)
	return in.Labels, bad
}

func (c *call) issueLabels() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	return ok(c.labelViews(c.repo, paged(c, i.labels)))
}

func (c *call) addLabels() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	names, bad := c.labelNames()
	if bad != nil {
		return *bad
	}
	for _, name := range names {
		if name == "" {
			return invalid("Label", "name", "missing_field", "")
		}
		c.addLabel(c.repo, i, name, c.caller.account())
	}
	return ok(c.labelViews(c.repo, i.labels))
}

func (c *call) replaceLabels() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	names, bad := c.labelNames()
	if bad != nil {
		return *bad
	}
	c.setLabels(i, names)
	return ok(c.labelViews(c.repo, i.labels))
}

func (c *call) setLabels(i *issue, names []string) {
	by := c.caller.account()
	for _, l := range slices.Clone(i.labels) {
		if !slices.ContainsFunc(names, func(n string) bool { return fold(n) == fold(l.name) }) {
			c.removeLabel(c.repo, i, l, by)
		}
	}
	for _, name := range names {
		c.addLabel(c.repo, i, name, by)
	}
}

func (c *call) dropLabel() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	if !i.hasLabel(c.args["name"]) {
		return refuse(404, "Label does not exist")
	}
	c.removeLabel(c.repo, i, c.repo.labels[fold(c.args["name"])], c.caller.account())
	return ok(c.labelViews(c.repo, i.labels))
}

func (c *call) dropLabels() reply {
	i, refused := c.issue()
	if refused != nil {
		return *refused
	}
	c.setLabels(i, nil)
	return empty()
}

// Comment comments as somebody and gives the comment's number.
func (s *Server) Comment(repository string, number int, as, body string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return 0, err
	}
	return s.comment(r, i, by, nil, body).id, nil
}

// EditComment changes a comment as somebody.
func (s *Server) EditComment(repository string, id int64, as, body string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return err
	}
	by, err := s.person(as)
	if err != nil {
		return err
	}
	i, m := r.findComment(id)
	if m == nil {
		return ErrNotFound
	}
	s.editComment(r, i, m, by, body)
	return nil
}

// Label adds a label as somebody.
func (s *Server) Label(repository string, number int, as, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return err
	}
	s.addLabel(r, i, name, by)
	return nil
}

// Unlabel takes a label off as somebody.
func (s *Server) Unlabel(repository string, number int, as, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i, by, err := s.locate(repository, number, as)
	if err != nil {
		return err
	}
	if i.hasLabel(name) {
		s.removeLabel(r, i, r.labels[fold(name)], by)
	}
	return nil
}

// Lock lets only those who may write comment.
func (s *Server) Lock(repository string, number int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.repository(repository)
	if err != nil {
		return err
	}
	i := r.issues[number]
	if i == nil {
		return ErrNotFound
	}
	i.locked = true
	return nil
}
