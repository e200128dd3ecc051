// Package vip is the model: VIPs and backends as declared and as stored, their validation, ids, schedulers and status.
package vip
