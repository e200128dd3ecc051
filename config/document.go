package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document is one YAML document being read: it remembers the line of each key, for what is found wrong later.
type document struct {
	file    string
	root    ast.Node
	lines   map[string]int
	anchors map[string]ast.Node
	errs    Errors
}

// parse splits a file into its documents; empty ones are left out.
func parse(file string, data []byte) ([]*document, error) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		var y yaml.Error
		if errors.As(err, &y) && y.GetToken() != nil {
			return nil, Errors{{file, y.GetToken().Position.Line, "", y.GetMessage()}}
		}
		return nil, Errors{{file, 0, "", err.Error()}}
	}
	var docs []*document
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.NullType {
			continue
		}
		docs = append(docs, &document{file: file, root: d.Body, lines: map[string]int{}, anchors: map[string]ast.Node{}})
	}
	return docs, nil
}

// decode reads the document into what out points to.
func (d *document) decode(out any) { d.value(d.root, reflect.ValueOf(out).Elem(), "") }

// fail notes what is wrong with a key; the line is that of the key, or of the nearest one around it.
func (d *document) fail(key, format string, args ...any) {
	line := 0
	for at := key; ; at = at[:strings.LastIndexAny(at, ".[")] {
		if l, ok := d.lines[at]; ok {
			line = l
			break
		}
		if !strings.ContainsAny(at, ".[") {
			break
		}
	}
	if line == 0 {
		line = d.root.GetToken().Position.Line
	}
	d.errs = append(d.errs, Error{d.file, line, key, fmt.Sprintf(format, args...)})
}

// err is all that was wrong, nil if nothing was.
func (d *document) err() error {
	if len(d.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(d.errs, func(a, b Error) int { return a.Line - b.Line })
	return d.errs
}

var (
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
)

func (d *document) value(n ast.Node, out reflect.Value, key string) {
	switch x := n.(type) {
	case *ast.AnchorNode:
		d.value(x.Value, out, key)
		d.anchors[x.Name.GetToken().Value] = x.Value
		return
	case *ast.AliasNode:
		name := x.Value.GetToken().Value
		if target, ok := d.anchors[name]; ok {
			d.value(target, out, key)
		} else {
			d.fail(key, "there is no &%s before *%s", name, name)
		}
		return
	case *ast.TagNode:
		d.fail(key, "tag %s: tags are not supported", x.Start.Value)
		return
	case *ast.NullNode:
		return // as if it were not there
	}
	kind := out.Kind()
	switch {
	case kind == reflect.Pointer:
		p := reflect.New(out.Type().Elem())
		d.value(n, p.Elem(), key)
		out.Set(p)
	case out.Addr().Type().Implements(textType), out.Addr().Type().Implements(jsonType), kind == reflect.String:
		d.scalar(n, out, key)
	case kind == reflect.Struct:
		d.mapping(n, out, key)
	case kind == reflect.Slice:
		d.sequence(n, out, key)
	case kind == reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			out.SetBool(b.Value)
		} else {
			d.fail(key, "%s: want true or false", n)
		}
	case out.CanInt():
		v, err := strconv.ParseInt(plain(n), 10, 64)
		if err != nil || out.OverflowInt(v) {
			d.fail(key, "%s: want a whole number", n)
			return
		}
		out.SetInt(v)
	case out.CanUint():
		v, err := strconv.ParseUint(plain(n), 10, 64)
		if err != nil || out.OverflowUint(v) {
			d.fail(key, "%s: want a whole number from 0 to %d", n, uint64(1)<<out.Type().Bits()-1)
			return
		}
		out.SetUint(v)
	case out.CanFloat():
		v, err := strconv.ParseFloat(n.GetToken().Value, 64)
		if _, text := n.(*ast.StringNode); err != nil || text || math.IsNaN(v) || math.IsInf(v, 0) {
			d.fail(key, "%s: want a number", n)
			return
		}
		out.SetFloat(v)
	default:
		d.fail(key, "cannot be read into %s", out.Type())
	}
}

// plain is the text of an unquoted number.
func plain(n ast.Node) string {
	if _, ok := n.(*ast.IntegerNode); ok {
		return n.GetToken().Value
	}
	return ""
}

// scalar reads text as it is written: a datapath id of digits is no number.
func (d *document) scalar(n ast.Node, out reflect.Value, key string) {
	var text string
	number := false
	switch x := n.(type) {
	case *ast.StringNode:
		text = x.Value
	case *ast.LiteralNode:
		text = x.Value.Value
	case *ast.IntegerNode, *ast.FloatNode:
		text, number = n.GetToken().Value, true
	case *ast.BoolNode:
		text = n.GetToken().Value
	default:
		d.fail(key, "want text")
		return
	}
	var err error
	switch u := out.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		err = u.UnmarshalText([]byte(text))
	case json.Unmarshaler:
		raw := []byte(text)
		if !number || !json.Valid(raw) {
			raw, err = json.Marshal(text)
		}
		if err == nil {
			err = u.UnmarshalJSON(raw)
		}
	default:
		out.SetString(text)
	}
	if err != nil {
		d.fail(key, "%s", err)
	}
}

func (d *document) sequence(n ast.Node, out reflect.Value, key string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(key, "want a list")
		return
	}
	list := reflect.MakeSlice(out.Type(), len(s.Values), len(s.Values))
	for i, v := range s.Values {
		at := fmt.Sprintf("%s[%d]", key, i)
		d.lines[at] = v.GetToken().Position.Line
		d.value(v, list.Index(i), at)
	}
	out.Set(list)
}

func (d *document) mapping(n ast.Node, out reflect.Value, key string) {
	var pairs []*ast.MappingValueNode
	switch x := n.(type) {
	case *ast.MappingNode:
		pairs = x.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{x}
	default:
		d.fail(key, "want keys: %s", strings.Join(keys(out.Type()), ", "))
		return
	}
	if key != "" && len(pairs) > 0 { // of an item of a list, its first key; the node itself may point elsewhere
		d.lines[key] = min(d.lineOf(key), pairs[0].Key.GetToken().Position.Line)
	}
	for _, p := range pairs {
		name := p.Key.GetToken().Value
		at := strings.TrimPrefix(key+"."+name, ".")
		d.lines[at] = p.Key.GetToken().Position.Line
		i := slices.Index(keys(out.Type()), name)
		if i < 0 && answered(out.Type(), name) {
			continue
		}
		if i < 0 {
			d.fail(at, "unknown key; want one of %s", strings.Join(keys(out.Type()), ", "))
			continue
		}
		d.value(p.Value, out.Field(i), at)
	}
}

func (d *document) lineOf(key string) int {
	if l, ok := d.lines[key]; ok {
		return l
	}
	return int(^uint(0) >> 1)
}

// keys are the JSON names of a struct's fields, by index.
func keys(t reflect.Type) []string {
	out := make([]string, t.NumField())
	for i := range out {
		out[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return out
}
