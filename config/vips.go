package config

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/evenflow/evenflow/apps/vip"
)

// VIPs reads declarations of VIPs: in each YAML document a VIP, a list of VIPs, or a list under the key vips, or items as the API
// answers. They are valid, each name is there once, and what is left out stays so. The error is [Errors].
func VIPs(file string, data []byte) ([]vip.Spec, error) {
	docs, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	var all []vip.Spec
	var errs Errors
	seen := make(map[string]string)
	for _, d := range docs {
		specs, prefix := d.vips()
		d.checkVIPs(specs, prefix, seen)
		errs = append(errs, d.errs...)
		all = append(all, specs...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if len(docs) == 0 {
		return nil, Errors{{file, 0, "", "no VIPs: want a list under the key vips, or one VIP in each document"}}
	}
	return all, nil
}

// vips reads a document in any of its forms. prefix is the key of the list; for a single VIP it is "-".
func (d *document) vips() (specs []vip.Spec, prefix string) {
	if d.root.Type() == ast.SequenceType {
		d.decode(&specs)
		return specs, ""
	}
	if d.has("vips") {
		var list struct {
			VIPs []vip.Spec `json:"vips"`
		}
		d.decode(&list)
		return list.VIPs, "vips"
	}
	if d.has("items") {
		var list struct {
			Items []vip.Spec `json:"items"`
		}
		d.decode(&list)
		return list.Items, "items"
	}
	specs = make([]vip.Spec, 1)
	d.decode(&specs[0])
	return specs, "-"
}

// answered reports whether a key is one that a VIP has where it is read, and not where it is declared. It is passed over, so that
// what was read can be declared again.
func answered(t reflect.Type, key string) bool {
	return t == reflect.TypeFor[vip.Spec]() && (key == "version" || key == "origin" || key == "status")
}

// has reports whether the document is a mapping with a key.
func (d *document) has(key string) bool {
	switch x := d.root.(type) {
	case *ast.MappingNode:
		for _, p := range x.Values {
			if p.Key.GetToken().Value == key {
				return true
			}
		}
	case *ast.MappingValueNode:
		return x.Key.GetToken().Value == key
	}
	return false
}

// checkVIPs validates VIPs. seen are the names and where they were.
func (d *document) checkVIPs(specs []vip.Spec, prefix string, seen map[string]string) {
	if len(d.errs) > 0 {
		return // a key that could not be read would be found missing, too
	}
	for i := range specs {
		at := ""
		if prefix != "-" {
			at = fmt.Sprintf("%s[%d].", prefix, i)
		}
		err := vip.Validate(vip.Normalize(specs[i]))
		var fields vip.FieldErrors
		switch {
		case errors.As(err, &fields):
			for _, f := range fields {
				d.fail(at+f.Field, "%s", f.Reason())
			}
		case err != nil:
			d.fail(at+"mode", "%s", err)
		}
		name := specs[i].Name
		if was, twice := seen[name]; twice && name != "" {
			d.fail(at+"name", "%q is also declared in %s", name, was)
			continue
		}
		seen[name] = fmt.Sprintf("line %d", d.nameLine(at))
	}
}

func (d *document) nameLine(at string) int {
	if l, ok := d.lines[at+"name"]; ok {
		return l
	}
	return d.root.GetToken().Position.Line
}
