// Package apps holds the contract between the engine and the apps that turn VIPs into rules, and the constants of the
// pipeline that they share. Each app is a package of its own below.
package apps
