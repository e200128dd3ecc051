package flows

// StackPush puts the bits of Src on the stack that belongs to the packet's way through the tables (Nicira push). Unlike
// registers the stack survives a group: a bucket can hand back what it chose.
type StackPush struct{ Src Span }

// StackPop takes the topmost bits from the stack into Dst (Nicira pop).
type StackPop struct{ Dst Span }

// AppendText is push:SPAN.
func (a StackPush) AppendText(b []byte) []byte { return a.Src.AppendText(append(b, "push:"...)) }

// AppendText is pop:SPAN.
func (a StackPop) AppendText(b []byte) []byte { return a.Dst.AppendText(append(b, "pop:"...)) }
