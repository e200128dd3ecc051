package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Trace has the switch say what it would do with packets, as `ovs-appctl ofproto/trace` does of one: many in the time that a
// program takes to start.
func (s *Switch) Trace(packets []string) (told []string, err error) {
	c, err := net.Dial("unix", s.path("ovs-vswitchd.ctl"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	defer c.Close()
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	for i, p := range packets {
		_ = c.SetDeadline(time.Now().Add(toolLimit))
		request := map[string]any{"id": i, "method": "ofproto/trace", "params": []string{s.name, p}}
		if err := out.Encode(request); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		var answer struct {
			Result string
			Error  any
		}
		if err = in.Decode(&answer); err == nil && answer.Error != nil {
			err = errors.New(fmt.Sprint(answer.Error))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: ofproto/trace %s: %w", s.name, p, err)
		}
		told = append(told, answer.Result)
	}
	return told, nil
}
