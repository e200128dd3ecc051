package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A request's body is read in three steps: JSON into plain values; those compared with the schema of the OpenAPI document,
// as far as decoding needs it (names, types, what fits a number), so that an error names its place; then decoded. What a
// value may be is for package vip to say.

// bodies decodes request bodies by the schemas of the document.
type bodies struct{ schemas huma.Registry }

// parse reads one JSON object.
func (b bodies) parse(raw []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var v any
	err := dec.Decode(&v)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			err = nil
		} else {
			err = errors.New("something follows the JSON value")
		}
	}
	if err != nil {
		return nil, problem(http.StatusBadRequest, "the body is not JSON", &huma.ErrorDetail{Location: "body", Message: err.Error()})
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid(&huma.ErrorDetail{Location: "body", Message: "want an object", Value: v})
	}
	return m, nil
}

// declared reads the JSON object that declares a VIP or a backend. What a read adds to it is passed over, so that what was read
// can be changed and written back; whether somebody else has changed it meanwhile is for If-Match to say.
func (b bodies) declared(raw []byte) (map[string]any, error) {
	m, err := b.parse(raw)
	for _, field := range []string{"status", "version", "origin"} {
		delete(m, field)
	}
	return m, err
}

// decode turns plain values into out, which the component named describes.
func (b bodies) decode(component string, m map[string]any, out any) error {
	if err := b.check(component, m); err != nil {
		return err
	}
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		return invalid(&huma.ErrorDetail{Location: "body", Message: err.Error()})
	}
	return nil
}

// check compares plain values with a component. Its error lists all that is wrong.
func (b bodies) check(component string, m map[string]any) error {
	c := checker{schemas: b.schemas}
	c.value(ref(component), m, "body")
	if len(c.errs) > 0 {
		return invalid(c.errs...)
	}
	return nil
}

// plain is a value of the model as plain JSON values.
func plain(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(raw, &m)
}

// merge applies a JSON merge patch (RFC 7396).
func merge(target, patch map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(target, k)
		case map[string]any:
			old, _ := target[k].(map[string]any)
			target[k] = merge(old, v)
		default:
			target[k] = v
		}
	}
	return target
}

type checker struct {
	schemas huma.Registry
	errs    []*huma.ErrorDetail
}

func (c *checker) add(path string, v any, format string, args ...any) {
	c.errs = append(c.errs, &huma.ErrorDetail{Location: path, Message: fmt.Sprintf(format, args...), Value: v})
}

func (c *checker) value(s *huma.Schema, v any, path string) {
	if s.Ref != "" {
		s = c.schemas.SchemaFromRef(s.Ref)
	}
	switch {
	case len(s.OneOf) > 0:
		c.oneOf(s, v, path)
	case s.Type == huma.TypeObject:
		c.object(s, v, path)
	case s.Type == huma.TypeArray:
		a, ok := v.([]any)
		if !ok {
			c.add(path, v, "want a list")
		}
		for i := range a {
			c.value(s.Items, a[i], fmt.Sprintf("%s[%d]", path, i))
		}
	case s.Type == huma.TypeString:
		c.text(s, v, path)
	case s.Type == huma.TypeInteger:
		c.integer(s, v, path)
	case s.Type == huma.TypeNumber:
		if _, ok := v.(float64); !ok {
			c.add(path, v, "want a number")
		}
	case s.Type == huma.TypeBoolean:
		if _, ok := v.(bool); !ok {
			c.add(path, v, "want true or false")
		}
	}
}

// oneOf takes what has the type of one alternative; what it says is left to the model.
func (c *checker) oneOf(s *huma.Schema, v any, path string) {
	for _, alt := range s.OneOf {
		_, number := v.(float64)
		_, text := v.(string)
		if number && alt.Type == huma.TypeInteger || text && alt.Type == huma.TypeString {
			return
		}
	}
	c.add(path, v, "want a number or text")
}

func (c *checker) object(s *huma.Schema, v any, path string) {
	m, ok := v.(map[string]any)
	if !ok {
		c.add(path, v, "want an object")
		return
	}
	for _, name := range s.Required {
		if m[name] == nil {
			c.add(path+"."+name, nil, "is required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p, known := s.Properties[name]
		switch {
		case !known:
			c.add(path+"."+name, nil, "unknown field; known are %s", list(slices.Sorted(maps.Keys(s.Properties))))
		case m[name] != nil: // null is as good as left out
			c.value(p, m[name], path+"."+name)
		}
	}
}

func (c *checker) text(s *huma.Schema, v any, path string) {
	t, ok := v.(string)
	switch {
	case s.Format == formatDuration && v == 0.0:
	case !ok && s.Format == formatDuration:
		c.add(path, v, `want text such as "30s"`)
	case !ok:
		c.add(path, v, "want text")
	case s.Format == formatDuration:
		if _, err := time.ParseDuration(t); err != nil {
			c.add(path, v, `want a duration such as "30s" or "5m"`)
		}
	}
}

func (c *checker) integer(s *huma.Schema, v any, path string) {
	low, high := -float64(1<<53), float64(1<<53)
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	n, ok := v.(float64)
	switch {
	case ok && n == math.Trunc(n) && n >= low && n <= high:
	case s.Maximum != nil:
		c.add(path, v, "want a whole number from %.0f to %.0f", low, high)
	default:
		c.add(path, v, "want a whole number")
	}
}
