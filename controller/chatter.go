package controller

import (
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	chatterWindow = 10 * time.Second
	chatterLines  = 10   // of one peer or switch in a window
	chatterPeers  = 1000 // told apart; further ones share their lines
)

// chatter bounds what is logged of a peer, who may cause as many lines as it likes. What is left out is told by their number.
type chatter struct {
	log logrus.FieldLogger

	mu    sync.Mutex
	begun time.Time // of the window
	lines map[string]int
}

// pass reports whether one more line about somebody is to be logged.
func (c *chatter) pass(who string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.begun) >= chatterWindow {
		for who, n := range c.lines {
			if n > chatterLines {
				c.log.WithFields(logrus.Fields{"peer": who, "lines": n - chatterLines}).Warn("further lines were left out of the log")
			}
		}
		c.begun, c.lines = now, map[string]int{}
	}
	if _, known := c.lines[who]; !known && len(c.lines) >= chatterPeers {
		who = "others"
	}
	c.lines[who]++
	return c.lines[who] <= chatterLines
}
