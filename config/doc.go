// Package config reads the YAML files that people write: the configuration of the server and declarations of VIPs. All
// that is wrong in a file is said at once, each with its line, its key and what is allowed there.
//
// The keys of a file are the JSON names of the Go types that it is read into.
package config
