package flows

// Pack is a copy of rules in few pieces of memory, all of which stay as long as one of the rules does. Lists that live long are
// packed: else each lies in many small objects, with room between them. The values of actions are shared with the rules given.
func Pack(rules []Rule) []Rule {
	conds, actions := 0, 0
	for i := range rules {
		conds, actions = conds+len(rules[i].Match), actions+len(rules[i].Actions)
	}
	allConds, allActions := make([]Cond, 0, conds), make([]Action, 0, actions)
	out := make([]Rule, len(rules))
	for i, r := range rules {
		from := len(allConds)
		allConds = append(allConds, r.Match...)
		r.Match = allConds[from:len(allConds):len(allConds)]
		from = len(allActions)
		allActions = append(allActions, r.Actions...)
		r.Actions = allActions[from:len(allActions):len(allActions)]
		out[i] = r
	}
	return out
}

// Keys are the identities of rules, in one piece of memory.
func Keys(rules []Rule) []RuleKey {
	var all []byte
	ends := make([]int, len(rules))
	for i := range rules {
		all = rules[i].appendKey(all)
		ends[i] = len(all)
	}
	text, from := string(all), 0
	keys := make([]RuleKey, len(rules))
	for i, end := range ends {
		keys[i], from = RuleKey{text[from:end]}, end
	}
	return keys
}
