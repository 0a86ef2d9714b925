package git

// Dir is the scratch's folder.
func (s *Scratch) Dir() string { return s.dir }

// ReaderPID is the process that reads objects; 0 if none runs.
func (s *Scratch) ReaderPID() int {
	s.batch.mu.Lock()
	defer s.batch.mu.Unlock()
	if s.batch.proc == nil {
		return 0
	}
	return s.batch.proc.cmd.Process.Pid
}

// PID is the importer's process.
func (im *Importer) PID() int { return im.cmd.Process.Pid }
