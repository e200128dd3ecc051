package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
)

type vipPath struct {
	VIP string `path:"vip" doc:"Name of the VIP" example:"web"`
}

type vipCreate struct {
	WriteParams
	RawBody []byte `contentType:"application/json"`
}

type vipWrite struct {
	WriteParams
	VIP     string `path:"vip" doc:"Name of the VIP" example:"web"`
	RawBody []byte `contentType:"application/json"`
}

type vipDelete struct {
	WriteParams
	VIP string `path:"vip" doc:"Name of the VIP" example:"web"`
}

type vipOutput struct {
	Status   int
	ETag     string `header:"ETag" doc:"Version of the VIP, for If-Match"`
	Location string `header:"Location" doc:"Path of what was created"`
	Body     vip.Read
}

// answer is a VIP as answered: lists are never null.
func answer(r vip.Read, status int) *vipOutput {
	out := &vipOutput{Status: status, ETag: etag(r.Version), Body: whole(r)}
	if status == http.StatusCreated {
		out.Location = base + "/vips/" + r.Name
	}
	return out
}

func whole(r vip.Read) vip.Read {
	r.Spec.Backends = notNil(r.Spec.Backends)
	r.Status.Applied = notNil(r.Status.Applied)
	r.Status.Backends = notNil(r.Status.Backends)
	return r
}

func (s *Server) registerVIPs(a api) {
	get(a, "list-vips", "/vips", "All VIPs, by name", s.listVIPs)
	get(a, "get-vip", "/vips/{vip}", "A VIP with its state", s.getVIP)
	get(a, "list-connections", "/vips/{vip}/connections", "The live connections of a VIP of mode nat", s.listConnections)
	write(a, http.MethodPost, "create-vip", "/vips", specSchema, "Declare a VIP; 409 if there is one of the name", s.createVIP)
	write(a, http.MethodPut, "replace-vip", "/vips/{vip}", specSchema, "Declare a VIP anew: what is left out gets its default", s.putVIP)
	write(a, http.MethodPatch, "update-vip", "/vips/{vip}", specPatchSchema, "Change a VIP by a JSON merge patch (RFC 7396)", s.patchVIP)
	remove(a, "delete-vip", "/vips/{vip}", "Delete a VIP, its rules and its connections", s.deleteVIP)
}

func (s *Server) listVIPs(context.Context, *struct{}) (*listOutput[vip.Read], error) {
	all := slices.Clone(s.eng.VIPs())
	for i := range all {
		all[i] = whole(all[i])
	}
	return listOf(all), nil
}

func (s *Server) getVIP(_ context.Context, in *vipPath) (*vipOutput, error) {
	r, err := s.eng.VIP(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	return answer(r, http.StatusOK), nil
}

func (s *Server) listConnections(_ context.Context, in *vipPath) (*listOutput[apps.Connection], error) {
	c, err := s.eng.Connections(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	return listOf(c), nil
}

func (s *Server) createVIP(ctx context.Context, in *vipCreate) (*vipOutput, error) {
	m, err := s.bodies.declared(in.RawBody)
	if err != nil {
		return nil, err
	}
	var spec vip.Spec
	if err := s.bodies.decode(specSchema, m, &spec); err != nil {
		return nil, err
	}
	return s.create(ctx, &in.WriteParams, spec)
}

func (s *Server) create(ctx context.Context, p *WriteParams, spec vip.Spec) (*vipOutput, error) {
	r, err := s.eng.CreateVIP(ctx, spec, apps.WriteOptions{Origin: vip.OriginAPI, Force: p.Force, DryRun: p.DryRun})
	if err != nil {
		return nil, s.fail(err, inBody)
	}
	if r, err = s.confirm(ctx, p, r); err != nil {
		return nil, err
	}
	if p.DryRun {
		return answer(r, http.StatusOK), nil
	}
	return answer(r, http.StatusCreated), nil
}

// putVIP replaces a VIP, or creates it when there is none of the name and no If-Match asks for one.
func (s *Server) putVIP(ctx context.Context, in *vipWrite) (*vipOutput, error) {
	m, err := s.bodies.declared(in.RawBody)
	if err != nil {
		return nil, err
	}
	if m["name"] == nil {
		m["name"] = in.VIP
	}
	var spec vip.Spec
	if err := s.bodies.decode(specSchema, m, &spec); err != nil {
		return nil, err
	}
	if spec.Name != in.VIP {
		return nil, renamed("vip", in.VIP, spec.Name)
	}
	replace := func(old *vip.Spec) error { *old = spec.Clone(); return nil }
	out, err := s.update(ctx, &in.WriteParams, in.VIP, inBody, replace)
	if in.IfMatch != "" || !isProblem(err, http.StatusNotFound) {
		return out, err
	}
	out, err = s.create(ctx, &in.WriteParams, spec)
	if _, there := s.eng.VIP(in.VIP); isProblem(err, http.StatusConflict) && there == nil { // someone else was quicker
		return s.update(ctx, &in.WriteParams, in.VIP, inBody, replace)
	}
	return out, err
}

func (s *Server) patchVIP(ctx context.Context, in *vipWrite) (*vipOutput, error) {
	patch, err := s.patch(specPatchSchema, in.RawBody)
	if err != nil {
		return nil, err
	}
	return s.update(ctx, &in.WriteParams, in.VIP, inBody, func(spec *vip.Spec) error {
		var next vip.Spec
		if err := s.merged(specSchema, *spec, patch, &next); err != nil {
			return err
		}
		*spec = next
		return nil
	})
}

// update changes a VIP, waits as asked, and answers it whole.
func (s *Server) update(ctx context.Context, p *WriteParams, name string, at func(string) string,
	mutate func(*vip.Spec) error) (*vipOutput, error) {
	opt, err := s.options(p, name)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	r, err := s.eng.UpdateVIP(ctx, name, opt, mutate)
	if err != nil {
		return nil, s.fail(err, at)
	}
	if r, err = s.confirm(ctx, p, r); err != nil {
		return nil, err
	}
	return answer(r, http.StatusOK), nil
}

func (s *Server) deleteVIP(ctx context.Context, in *vipDelete) (*struct{}, error) {
	r, err := s.eng.VIP(in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	opt, err := s.options(&in.WriteParams, in.VIP)
	if err != nil {
		return nil, s.fail(err, nil)
	}
	if err := s.eng.DeleteVIP(ctx, in.VIP, opt); err != nil {
		return nil, s.fail(err, nil)
	}
	return nil, s.confirmGone(ctx, &in.WriteParams, r)
}

// patch reads a merge patch.
func (s *Server) patch(component string, raw []byte) (map[string]any, error) {
	m, err := s.bodies.declared(raw)
	if err != nil {
		return nil, err
	}
	return m, s.bodies.check(component, m)
}

// merged is old with a patch, decoded into out.
func (s *Server) merged(component string, old any, patch map[string]any, out any) error {
	m, err := plain(old)
	if err != nil {
		return fmt.Errorf("encode %s: %w", component, err)
	}
	return s.bodies.decode(component, merge(m, patch), out)
}

func renamed(what, from, to string) *huma.ErrorModel {
	return problem(http.StatusConflict, fmt.Sprintf("%s %q: its name is fixed for life, not to be %q", what, from, to),
		&huma.ErrorDetail{Location: "body.name", Message: "want " + from + ", as in the path", Value: to})
}

func isProblem(err error, status int) bool {
	var p *huma.ErrorModel
	return errors.As(err, &p) && p.Status == status
}
