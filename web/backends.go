package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

type backendPath struct {
	VIP     string `path:"vip" doc:"Name of the VIP" example:"web"`
	Backend string `path:"backend" doc:"Name of the backend" example:"b1"`
}

type backendWrite struct {
	WriteParams
	VIP     string `path:"vip" doc:"Name of the VIP" example:"web"`
	Backend string `path:"backend" doc:"Name of the backend" example:"b1"`
	RawBody []byte `contentType:"application/json"`
}

type backendDelete struct {
	WriteParams
	VIP     string `path:"vip" doc:"Name of the VIP" example:"web"`
	Backend string `path:"backend" doc:"Name of the backend" example:"b1"`
}

// Backend is a backend as the API answers it: as declared, with its state.
type Backend struct {
	vip.BackendSpec
	Status vip.BackendStatus `json:"status"`
}

type backendOutput struct {
	Status   int
	ETag     string `header:"ETag" doc:"Version of the VIP, for If-Match"`
	Location string `header:"Location" doc:"Path of what was created"`
	Body     Backend
}

func (s *Server) registerBackends(a api) {
	const all, one = "/vips/{vip}/backends", "/vips/{vip}/backends/{backend}"
	get(a, "list-backends", all, "The backends of a VIP", s.listBackends)
	get(a, "get-backend", one, "A backend with its state", s.getBackend)
	write(a, http.MethodPost, "create-backend", all, backendSchema, "Add a backend; 409 if there is one of the name", s.createBackend)
	write(a, http.MethodPut, "replace-backend", one, backendSchema, "Declare a backend anew: what is left out gets its default", s.putBackend)
	write(a, http.MethodPatch, "update-backend", one, backendPatchSchema, "Change a backend by a JSON merge patch (RFC 7396)", s.patchBackend)
	remove(a, "delete-backend", one, "Remove a backend; its connections end", s.deleteBackend)
}

func backendsOf(r vip.Read) []Backend {
	out := make([]Backend, len(r.Spec.Backends))
	for i, b := range r.Spec.Backends {
		out[i] = Backend{b, vip.BackendStatus{Name: b.Name, State: vip.StateUnknown}}
		for _, st := range r.Status.Backends {
			if st.Name == b.Name {
				out[i].Status = st
			}
		}
	}
	return out
}

func (s *Server) listBackends(_ context.Context, in *vipPath) (*listOutput[Backend], error) {
	r, err := s.eng.VIP(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	return listOf(backendsOf(r)), nil
}

func (s *Server) getBackend(_ context.Context, in *backendPath) (*backendOutput, error) {
	r, err := s.eng.VIP(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	out, err := answerBackend(r, in.Backend, http.StatusOK)
	return out, s.fail(err, nil)
}

func answerBackend(r vip.Read, name string, status int) (*backendOutput, error) {
	i := indexOf(r.Spec.Backends, name)
	if i < 0 {
		return nil, fmt.Errorf("backend %q of vip %q: %w", name, r.Name, apps.ErrNotFound)
	}
	out := &backendOutput{Status: status, ETag: etag(r.Version), Body: backendsOf(r)[i]}
	if status == http.StatusCreated {
		out.Location = base + "/vips/" + r.Name + "/backends/" + name
	}
	return out, nil
}

func indexOf(list []vip.BackendSpec, name string) int {
	return slices.IndexFunc(list, func(b vip.BackendSpec) bool { return b.Name == name })
}

func (s *Server) createBackend(ctx context.Context, in *vipWrite) (*backendOutput, error) {
	m, err := s.bodies.declared(in.RawBody)
	if err != nil {
		return nil, err
	}
	var b vip.BackendSpec
	if err := s.bodies.decode(backendSchema, m, &b); err != nil {
		return nil, err
	}
	return s.writeBackend(ctx, &in.WriteParams, in.VIP, b.Name, func(spec *vip.Spec, i int) (int, error) {
		if i >= 0 {
			return i, fmt.Errorf("backend %q of vip %q: %w", b.Name, in.VIP, apps.ErrExists)
		}
		spec.Backends = append(spec.Backends, b)
		return len(spec.Backends) - 1, nil
	})
}

// putBackend replaces a backend, or adds it when there is none of the name.
func (s *Server) putBackend(ctx context.Context, in *backendWrite) (*backendOutput, error) {
	m, err := s.bodies.declared(in.RawBody)
	if err != nil {
		return nil, err
	}
	if m["name"] == nil {
		m["name"] = in.Backend
	}
	var b vip.BackendSpec
	if err := s.bodies.decode(backendSchema, m, &b); err != nil {
		return nil, err
	}
	if b.Name != in.Backend {
		return nil, renamed("backend", in.Backend, b.Name)
	}
	return s.writeBackend(ctx, &in.WriteParams, in.VIP, in.Backend, func(spec *vip.Spec, i int) (int, error) {
		if i < 0 {
			spec.Backends = append(spec.Backends, b)
			return len(spec.Backends) - 1, nil
		}
		spec.Backends[i] = b
		return i, nil
	})
}

func (s *Server) patchBackend(ctx context.Context, in *backendWrite) (*backendOutput, error) {
	patch, err := s.patch(backendPatchSchema, in.RawBody)
	if err != nil {
		return nil, err
	}
	return s.writeBackend(ctx, &in.WriteParams, in.VIP, in.Backend, func(spec *vip.Spec, i int) (int, error) {
		if i < 0 {
			return i, fmt.Errorf("backend %q of vip %q: %w", in.Backend, in.VIP, apps.ErrNotFound)
		}
		var next vip.BackendSpec
		if err := s.merged(backendSchema, spec.Backends[i], patch, &next); err != nil {
			return i, err
		}
		if next.Name != in.Backend {
			return i, renamed("backend", in.Backend, next.Name)
		}
		spec.Backends[i] = next
		return i, nil
	})
}

// writeBackend changes one backend of a VIP. change gets the index of the backend, -1 if there is none, and returns where
// it is now.
func (s *Server) writeBackend(ctx context.Context, p *WriteParams, name, backend string,
	change func(spec *vip.Spec, i int) (int, error)) (*backendOutput, error) {
	status, prefix := http.StatusOK, ""
	out, err := s.update(ctx, p, name, func(f string) string { return inBackend(prefix)(f) }, func(spec *vip.Spec) error {
		old := indexOf(spec.Backends, backend)
		spec.Backends = slices.Clone(spec.Backends)
		i, err := change(spec, old)
		status, prefix = http.StatusOK, fmt.Sprintf("backends[%d].", i)
		if old < 0 && !p.DryRun {
			status = http.StatusCreated
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b, err := answerBackend(out.Body, backend, status)
	return b, s.fail(err, nil)
}

func (s *Server) deleteBackend(ctx context.Context, in *backendDelete) (*struct{}, error) {
	_, err := s.update(ctx, &in.WriteParams, in.VIP, inBody, func(spec *vip.Spec) error {
		i := indexOf(spec.Backends, in.Backend)
		if i < 0 {
			return fmt.Errorf("backend %q of vip %q: %w", in.Backend, in.VIP, apps.ErrNotFound)
		}
		spec.Backends = slices.Delete(slices.Clone(spec.Backends), i, i+1)
		return nil
	})
	return nil, err
}
