/*
 * Goal: rules of a definition are checked when it is written: their texts, the types of their
 * expressions, what these may cost, and where they may refer to the old value.
 * Method: for each requirement the smallest schema that violates it, with the causes at their
 * paths; the same for updates of definitions whose rules were stored before.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newCheckBudget } from '../../../../../src/api/custom/check-budget.ts'
import { customLimits } from '../../../../../src/api/custom/limits.ts'
import { checkStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { member } from '../../../../../src/api/schema/path.ts'

const X = 'x-kubernetes-'
const at = member(null, 's')

/** @returns path and message of each cause */
function wrong(schema: JsonObject, before?: JsonObject): readonly string[] {
  const causes = causesOf((found) => {
    const options = { statusSubresource: false, ...(before === undefined ? {} : { before }) }
    checkStructural(schema, at, namesOf('k8s.io'), options, found)
  })
  return causes.map(({ field, message }) => `${field}: ${message}`)
}

function around(a: JsonObject): JsonObject {
  return { type: 'object', properties: { a } }
}

function ruled(schema: JsonObject, ...rules: readonly (string | JsonObject)[]): JsonObject {
  return { ...schema, [`${X}validations`]: rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)) }
}

const text = { type: 'string', maxLength: 10 }
const count = { type: 'integer' }
const P = `s.properties[a].${X}validations[0]`
const HINT =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'

for (const [what, rule, words, schema = count] of [
  ['without an expression', { rule: ' ' }, `${P}.rule: Required value: rule is not specified`],
  [
    'with an empty message',
    { rule: 'true', message: ' ' },
    `${P}.message: Invalid value: " ": message must be non-empty if specified`,
  ],
  [
    'with a message of two lines',
    { rule: 'true', message: 'a\nb' },
    `${P}.message: Invalid value: "a\\nb": message must not contain line breaks`,
  ],
  [
    'of two lines without a message',
    { rule: 'self > 1 &&\nself < 3' },
    `${P}.message: Required value: message or messageExpression must be specified if rule contains line breaks`,
  ],
  [
    'with an empty messageExpression',
    { rule: 'true', messageExpression: ' ' },
    `${P}.messageExpression: Required value: messageExpression must be non-empty if specified`,
  ],
  [
    'with an unsupported reason',
    { rule: 'true', reason: 'Wrong' },
    `${P}.reason: Unsupported value: "Wrong": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
  ],
  [
    'with a fieldPath that the schema lacks',
    { rule: 'true', fieldPath: '.b' },
    `${P}.fieldPath: Invalid value: ".b": fieldPath must be a valid path`,
  ],
  [
    'with an empty fieldPath',
    { rule: 'true', fieldPath: ' ' },
    `${P}.fieldPath: Invalid value: " ": fieldPath must be non-empty if specified`,
  ],
  [
    'that does not compile',
    { rule: 'self.foo > 1' },
    new RegExp(
      `${escaped(`${P}.rule: Invalid value: "self.foo > 1": compilation failed: ERROR: <input>:1:5: `)}`,
    ),
  ],
  [
    'that is not a boolean',
    { rule: 'self + 1' },
    `${P}.rule: Invalid value: "self + 1": cel expression must evaluate to a bool`,
  ],
  ...['self.matches("[")', 'matches(self, "[")', 'self.find("[") == ""', 'self.findAll("[", 2) == []'].map(
    (rule) =>
      [
        `with an invalid pattern: ${rule}`,
        { rule: `type(self) == int || ${rule}` },
        /rule: Invalid value: .*: program instantiation failed: error parsing regexp: missing closing \]: `\[`$/,
        { [`${X}int-or-string`]: true },
      ] as const,
  ),
  [
    'whose messageExpression has an invalid pattern',
    { rule: 'self > 1', messageExpression: 'string(self).find("(")' },
    /messageExpression: Invalid value: .*: messageExpression program instantiation failed: error parsing regexp: /,
  ],
  [
    'whose messageExpression does not compile',
    { rule: 'self > 1', messageExpression: 'selff' },
    /messageExpression: Invalid value: "selff": messageExpression compilation failed: ERROR/,
  ],
  [
    'whose messageExpression is not a string',
    { rule: 'self > 1', messageExpression: 'self' },
    `${P}.messageExpression: Invalid value: "self": messageExpression must evaluate to a string`,
  ],
  [
    'with optionalOldSelf that does not use oldSelf',
    { rule: 'self > 1', optionalOldSelf: true },
    `${P}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
  ],
  [
    'that uses an optional old value as if it were always present',
    { rule: 'self > oldSelf', optionalOldSelf: true },
    /rule: Invalid value: "self > oldSelf": compilation failed: ERROR: .*no matching overload/,
  ],
] as const) {
  void test(`a rule ${what} is refused`, () => {
    const found = wrong(around(ruled(schema, rule)))
    assert.equal(found.length, 1, found.join('\n'))
    if (typeof words === 'string') assert.deepEqual(found, [words])
    else assert.match(found.join(), words)
  })
}

function escaped(words: string): string {
  return words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

for (const [what, schema] of [
  ['compares numbers', ruled(count, 'self >= 0 && self < 10')],
  ['has several lines and a message', ruled(count, { rule: 'self > 1 &&\nself < 3', message: 'no' })],
  [
    'has several lines and makes its message',
    ruled(count, { rule: 'self > 1 &&\nself < 3', messageExpression: '"no"' }),
  ],
  ['names a field', ruled(struct({ b: text }), { rule: 'has(self.b)', fieldPath: '.b' })],
  [
    'names a key of a map',
    ruled(mapOf(text), { rule: 'true', fieldPath: ".b['c']" }, { rule: 'true', fieldPath: ".b['it\\'s']" }),
  ],
  ['is a transition rule', ruled(text, 'self == oldSelf')],
  [
    'allows the old value to be absent',
    ruled(text, { rule: 'oldSelf.hasValue() || self == "a"', optionalOldSelf: true }),
  ],
  [
    'escapes names',
    ruled(struct({ 'a-b': count, 'c.d/e': count, f__g: count, namespace: count }), ESCAPED()),
  ],
  [
    'is about a value of two types',
    ruled({ [`${X}int-or-string`]: true }, 'type(self) == int ? self > 1 : self == "a"'),
  ],
  [
    'reads times, durations and bytes',
    ruled(
      struct({
        at: { type: 'string', format: 'date-time' },
        on: { type: 'string', format: 'date' },
        every: { type: 'string', format: 'duration' },
        raw: { type: 'string', format: 'byte', maxLength: 8 },
      }),
      'self.at > self.on && self.every < duration("1h") && size(self.raw) > 1',
    ),
  ],
  [
    'reads the names of an embedded object',
    ruled(
      { type: 'object', [`${X}embedded-resource`]: true, [`${X}preserve-unknown-fields`]: true },
      'self.kind == "Pod" && self.metadata.name.startsWith("a")',
    ),
  ],
  [
    'compares structs without limits',
    ruled(struct({ b: { type: 'string' }, c: struct({}) }), 'self == oldSelf'),
  ],
  [
    'matches a value of two types with a pattern',
    ruled({ [`${X}int-or-string`]: true }, 'type(self) == int || self.matches("^[0-9]+%$")'),
  ],
  ['is inside of allOf', { ...count, allOf: [ruled({ minimum: 1 }, 'self < 9')] }],
] as const) {
  void test(`a rule that ${what} is accepted`, () => {
    assert.deepEqual(wrong(around(schema)), [])
  })
}

function struct(properties: { readonly [name: string]: JsonObject }): JsonObject {
  return { type: 'object', properties }
}

function mapOf(values: JsonObject): JsonObject {
  return struct({ b: { type: 'object', additionalProperties: values } })
}

function ESCAPED(): string {
  return 'self.a__dash__b + self.c__dot__d__slash__e + self.f__underscores__g + self.__namespace__ > 1'
}

void test('rules at the root read kind, apiVersion and the names in metadata', () => {
  const reads =
    'self.kind == "A" && self.apiVersion != "" && self.metadata.name != self.metadata.generateName'
  assert.deepEqual(wrong(ruled({ type: 'object' }, reads)), [])
  assert.match(
    wrong(ruled({ type: 'object' }, 'has(self.metadata.labels)')).join(),
    /undefined field 'labels'/,
  )
})

void test('values of any type cannot have rules', () => {
  const found = wrong(around(ruled({ [`${X}preserve-unknown-fields`]: true }, 'true')))
  assert.deepEqual(found, [
    `${P}.rule: Invalid value: "true": expressions cannot read values whose schema has no type; specify one`,
  ])
})

void test('rules inside of anyOf, oneOf and not are refused', () => {
  const rule = ruled({}, 'true')
  for (const [junctor, path] of [
    [{ anyOf: [rule] }, 'anyOf[0]'],
    [{ oneOf: [rule] }, 'oneOf[0]'],
    [{ not: rule }, 'not'],
    [{ anyOf: [{ allOf: [rule] }] }, 'anyOf[0].allOf[0]'],
  ] as const) {
    assert.deepEqual(wrong(around({ ...count, ...junctor })), [
      `s.properties[a].${path}.${X}validations: Forbidden: must be empty to be structural`,
    ])
  }
})

void test('the old value is only known outside of lists whose elements have no keys', () => {
  const item = ruled(struct({ k: text }), 'self.k == oldSelf.k')
  const list = (more: JsonObject): JsonObject => ({ type: 'array', maxItems: 5, items: item, ...more })
  const words = 'oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[a]'
  const field = `s.properties[a].items.${X}validations[0].rule: Invalid value: "self.k == oldSelf.k": ${words}`
  assert.deepEqual(wrong(around(list({}))), [field])
  assert.deepEqual(wrong(around(list({ [`${X}list-type`]: 'atomic' }))), [field])
  const keyed = { [`${X}list-type`]: 'map', [`${X}list-map-keys`]: ['k'] }
  const required = { ...item, required: ['k'] }
  assert.deepEqual(wrong(around(list({ ...keyed, items: required }))), [])
  assert.deepEqual(wrong(around({ type: 'object', maxProperties: 5, additionalProperties: item })), [])
})

void test('a rule that may cost too much is refused, with a hint about limits', () => {
  const names = (more: JsonObject, items: JsonObject = { type: 'string' }): JsonObject =>
    ruled({ type: 'array', items, ...more }, 'self.all(x, self.all(y, x == y || x != "a"))')
  const found = wrong(around(names({})))
  assert.equal(
    found[0],
    `${P}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${HINT}`,
  )
  assert.deepEqual(found.slice(1), [
    `${P}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
    `s: Forbidden: ${X}validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${HINT}`,
  ])
  assert.deepEqual(wrong(around(names({ maxItems: 10 }, text))), [])
})

void test('a rule is counted once for each value that the lists and maps around it allow', () => {
  const leaf = ruled({ type: 'string', maxLength: 1000 }, 'self.contains("a")')
  const list = (items: JsonObject, maxItems?: number): JsonObject => ({
    ...{ type: 'array', items },
    ...(maxItems === undefined ? {} : { maxItems }),
  })
  assert.deepEqual(wrong(around(leaf)), [])
  assert.deepEqual(wrong(around(list(list(leaf, 10), 100))), [])
  assert.match(wrong(around(list(list(leaf, 1000), 1000))).join(), /estimated rule cost exceeds budget/)
  assert.match(wrong(around(list(leaf))).join(), /estimated rule cost exceeds budget by factor of/)
})

void test('a rule that costs nothing is counted as one unit for each value', () => {
  const list = { type: 'array', items: ruled(count, ...Array<string>(100).fill('true')) }
  assert.match(
    wrong(around(list)).join(),
    /total for entire OpenAPIv3 schema exceeds budget by factor of 1\.6x/,
  )
  assert.deepEqual(wrong(around({ ...list, maxItems: 1000 })), [])
})

void test('keys of maps, whose length no schema can limit, are estimated as empty', () => {
  const labels = (rule: string, more: JsonObject): JsonObject =>
    ruled({ type: 'object', additionalProperties: text, ...more }, rule)
  const bounded = { maxProperties: 100 }
  for (const rule of [
    `self.all(x, x in ["a.io/x"] || !x.find("^([^/]+)").endsWith("example.com"))`,
    'self.all(x, x.matches("^[a-z]+$") && x.lowerAscii() == x)',
    'self.exists(x, x.contains("/") && "of " + x != self[x])',
  ]) {
    assert.deepEqual(wrong(around(labels(rule, bounded))), [])
  }
  // The number of labels still counts.
  assert.match(
    wrong(around(labels('self.all(x, self.all(y, x.matches("^a")))', {}))).join(),
    /estimated rule cost exceeds budget/,
  )
})

void test('a comparison of lists without limits costs too much', () => {
  const list = { type: 'array', items: { type: 'object', properties: {} } }
  const outer = { type: 'array', items: ruled(list, 'self == self'), maxItems: 1000 }
  assert.match(wrong(around(outer)).join(), /estimated rule cost exceeds budget/)
})

void test('many rules may cost too much together', () => {
  const leaf = ruled({ type: 'string', maxLength: 3000 }, 'self.contains("a")')
  const list = { type: 'array', items: leaf, maxItems: 7000 }
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, list]))
  const found = wrong({ type: 'object', properties })
  assert.equal(found.filter((words) => words.includes('contributed to')).length, 4)
  assert.match(
    found.at(-1) ?? '',
    /^s: Forbidden: .* total for entire OpenAPIv3 schema exceeds budget by factor of 1\./,
  )
  assert.equal(found.length, 5)
})

void test('rules beyond the limits of a definition are refused before they are compiled', () => {
  const many = Array.from({ length: customLimits.rulesMax + 1 }, () => 'self > 1')
  assert.match(wrong(around(ruled(count, ...many))).join(), /: Forbidden: a definition may have at most/)
  const long = Array.from({ length: 20 }, () => `self > ${'1'.repeat(10)}${' '.repeat(8000)}`)
  assert.match(wrong(around(ruled(count, ...long))).join(), /: Forbidden: a definition may have at most/)
  const budget = newCheckBudget()
  assert.deepEqual([budget.rulesLeft, budget.ruleCharactersLeft], [1000, 131_072])
})

void test('the nodes of all rules of a definition share one limit', () => {
  const rule = `${'self > 1 || '.repeat(600)}true`
  const few = Array.from({ length: 6 }, () => rule)
  assert.deepEqual(wrong(around(ruled(count, ...few))), [])
  assert.deepEqual(wrong(around(ruled(count, ...few, rule))), [
    `s.properties[a].${X}validations[6]: Forbidden: the rules of a definition may have at most 15000 nodes together`,
  ])
})

void test('an update may keep rules that are broken already, and may add no others', () => {
  const broken = ruled(count, 'self.foo')
  const stored = struct({ a: broken })
  assert.equal(wrong(stored).length, 1)
  assert.deepEqual(wrong(struct({ a: broken, b: text }), stored), [])
  // A valid rule is added before the stored broken rule, and a broken one after it.
  const more = ruled(count, 'self > 1', 'self.foo', 'self.bar')
  const found = wrong(struct({ a: more }), stored)
  assert.deepEqual(
    found.map((words) => words.split(': ')[0]),
    [`s.properties[a].${X}validations[2].rule`],
  )
  // The rule was valid, until its field was removed.
  const valid = ruled(struct({ c: count, d: count }), 'self.c > 1')
  assert.equal(
    wrong(struct({ a: ruled(struct({ d: count }), 'self.c > 1') }), struct({ a: valid })).length,
    1,
  )
})

void test('an update may keep rules that cost too much together', () => {
  const leaf = ruled({ type: 'string', maxLength: 3000 }, 'self.contains("a")')
  const list = { type: 'array', items: leaf, maxItems: 7000 }
  const entries = Array.from({ length: 20 }, (_, index): [string, JsonObject] => [`p${index}`, list])
  const stored = struct(Object.fromEntries(entries))
  assert.deepEqual(wrong(struct({ ...Object.fromEntries(entries), b: text }), stored), [])
})

void test('only rules of valid schemas are compiled', () => {
  const found = wrong(struct({ a: ruled(count, 'self.foo'), b: { type: 'text' } as Json as JsonObject }))
  assert.ok(found.length > 0)
  assert.doesNotMatch(found.join(), /compilation failed/)
})

const POSITIVE = { rule: 'self > 0', message: 'must be positive' }
const D = 's.properties[a].default: Invalid value'

for (const [what, schema, words] of [
  ['breaks its own rule', { ...ruled(count, POSITIVE), default: 0 }, `${D}: "integer": must be positive`],
  [
    'breaks a rule inside of it',
    { ...struct({ b: ruled(count, POSITIVE) }), default: { b: 0 } },
    's.properties[a].default.b: Invalid value: "integer": must be positive',
  ],
  [
    'breaks a rule with another default inside of it',
    { ...ruled(struct({ b: { ...count, default: 0 } }), 'self.b > 0'), default: {} },
    `${D}: "object": failed rule: self.b > 0`,
  ],
  [
    'breaks a rule in allOf',
    { ...count, default: 0, allOf: [ruled({}, POSITIVE)] },
    `${D}: "integer": must be positive`,
  ],
] as const) {
  void test(`a default that ${what} is refused`, () => {
    assert.deepEqual(wrong(around(schema)), [words])
  })
}

void test('a default that satisfies the rules of its schema is accepted, whatever its old value', () => {
  const inner = { ...count, default: 1 }
  for (const schema of [
    { ...ruled(count, POSITIVE, 'self > oldSelf'), default: 1 },
    { ...ruled(struct({ b: inner }), 'self.b > 0'), default: {} },
    { ...ruled(count, { rule: '!oldSelf.hasValue() || self > 0', optionalOldSelf: true }), default: 0 },
  ]) {
    assert.deepEqual(wrong(around(schema)), [])
  }
})

void test('an update may keep a default that breaks its rule, but not change the default or the rule', () => {
  const stored = around({ ...ruled(count, POSITIVE), default: 0 })
  const both = (a: JsonObject): JsonObject => struct({ a, b: text })
  assert.deepEqual(wrong(both({ ...ruled(count, POSITIVE), default: 0 }), stored), [])
  for (const changed of [
    { ...ruled(count, POSITIVE), default: -1 },
    { ...ruled(count, { ...POSITIVE, rule: 'self > 1' }), default: 0 },
  ]) {
    assert.deepEqual(wrong(both(changed), stored), [`${D}: "integer": must be positive`])
  }
})

void test('an update may keep a pattern that does not compile', () => {
  const stored = around(ruled(text, 'self.matches("[")'))
  assert.deepEqual(wrong(struct({ a: ruled(text, 'self.matches("[")'), b: text }), stored), [])
})

void test('constant patterns of all rules share one limit, and those that an update keeps are not counted', () => {
  const rule = (at: number): string => `self.matches('(?i)${String.raw`\\pL`.repeat(100)}${at}')`
  const same = Array.from({ length: 100 }, () => rule(0))
  assert.deepEqual(wrong(around(ruled(text, ...same))), [])
  const many = Array.from({ length: 8 }, (_, at) => rule(at))
  const words = 'regular expressions of all versions must compile to at most 30000 instructions and ranges'
  const found = wrong(around(ruled(text, ...many)))
  assert.ok(found.length >= 3 && found.every((line) => line.includes(words)), found.join('\n'))
  // The patterns that an update keeps are not compiled again for this.
  const before = around(ruled(text, ...many))
  assert.deepEqual(wrong(struct({ a: ruled(text, ...many), b: count }), before), [])
})

void test('the defaults of a definition share the cost of the rules of one write', () => {
  const list = ruled(
    { type: 'array', maxItems: 300, items: text },
    'self.all(x, self.all(y, x != "" && y != ""))',
  )
  const value = Array.from({ length: 300 }, (_, index) => `x${index}`)
  const many = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [`p${index}`, { ...list, default: value }]),
  )
  assert.match(wrong(struct(many)).join(), /default: .* no further validation rules will be run/)
})
