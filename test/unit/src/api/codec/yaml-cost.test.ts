/*
 * Goal: YAML of the size of ordinary objects is accepted, and a text that would block the thread
 * for seconds is rejected before it is parsed.
 * Method: large bodies that are accepted, and some that are rejected. Their cost was measured when
 * the bound was chosen, because tests do not measure time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { YAML_ANCHORS_MAX, YAML_COST_MAX, withoutTraces } from '../../../../../src/api/codec/yaml-cost.ts'
import { parseYamlObject } from '../../../../../src/api/codec/yaml.ts'

function lines(count: number, line: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('')
}

function refusal(text: string): ApiError {
  try {
    parseYamlObject(text)
  } catch (cause) {
    if (cause instanceof ApiError) return cause
    throw cause
  }
  throw new assert.AssertionError({ message: `not refused: ${text.slice(0, 60)}` })
}

void test('a megabyte of YAML text is accepted, as block, quoted and plain scalar', () => {
  const line = 'some text of a line that is as long as most of them are'
  const count = Math.ceil((1024 * 1024) / line.length)
  const block = parseYamlObject(`data:\n  a: |\n${lines(count, () => `    ${line}`)}`).value
  assert.deepEqual(block, { data: { a: lines(count, () => line) } })
  const long = 'aGk='.repeat(350_000)
  const read = parseYamlObject(`kind: Secret\ndata:\n  a: "${long}"\n`).value
  assert.deepEqual(read, { kind: 'Secret', data: { a: long } })
  assert.deepEqual(parseYamlObject(`a: ${long}\n`).value, { a: long })
})

void test('a thousand small YAML objects are accepted', () => {
  const object = (at: number): string =>
    [
      '- apiVersion: v1',
      '  kind: ConfigMap',
      `  metadata: {name: cm-${at}, labels: {app: x}}`,
      '  data:',
      '    key: value of some words',
    ].join('\n')
  const { value } = parseYamlObject(`kind: List\nitems:\n${lines(1000, object)}`)
  assert.equal((value['items'] as readonly unknown[]).length, 1000)
})

void test('YAML with too many characters and tokens is rejected, whatever they are', () => {
  const rows: readonly string[] = [
    `a: "${'x'.repeat(YAML_COST_MAX)}"`,
    `a: [${','.repeat(300_000)}]`,
    `a: [${'a,'.repeat(150_000)}]`,
    lines(100_000, (at) => `k${at}: v`),
    `a: 1\n${'\n'.repeat(250_000)}`,
    '}\n'.repeat(150_000),
    `a: >\n${' x\n'.repeat(200_000)}`,
    `x:\n${'- {}\n'.repeat(18_800)}`,
  ]
  for (const text of rows) {
    const { code, message } = refusal(text)
    assert.equal(code, 'RequestEntityTooLarge')
    assert.match(
      message,
      /limit for YAML is 2097152 characters, each token counted as 32 more and each line as 8; send it as JSON/,
    )
  }
})

void test('YAML anchors and aliases are counted, and text that looks like them is not', () => {
  const pairs = (count: number): string => `a:\n${lines(count / 2, (at) => `- &a${at} 1\n- *a${at}`)}`
  assert.equal(
    (parseYamlObject(pairs(YAML_ANCHORS_MAX)).value['a'] as readonly unknown[]).length,
    YAML_ANCHORS_MAX,
  )
  const seen = refusal(pairs(YAML_ANCHORS_MAX + 2))
  assert.equal(seen.code, 'RequestEntityTooLarge')
  assert.match(seen.message, /limit for YAML is 250 anchors and aliases/)
  const text = parseYamlObject(lines(2000, (at) => `k${at}: |\n *x`)).value
  assert.equal(text['k1999'], '*x\n')
})

void test('errors are created without stack traces while YAML is parsed, and with them afterwards', () => {
  const before = Error.stackTraceLimit
  assert.equal(
    withoutTraces(() => new Error('a').stack),
    'Error: a',
  )
  assert.throws(() =>
    withoutTraces(() => {
      throw new RangeError('b')
    }),
  )
  assert.equal(Error.stackTraceLimit, before)
  assert.equal(refusal(`a: "${'\\q'.repeat(1000)}"`).code, 'BadRequest')
  assert.equal(Error.stackTraceLimit, before)
})

void test('a number with more digits than any number needs is rejected before it is converted, a quoted one is accepted', () => {
  const digits = '7'.repeat(512 * 1024)
  for (const number of [digits, `-${digits}`, `0${digits}`, `0x${digits}`, `7_${digits}`]) {
    assert.match(refusal(`a: ${number}\n`).message, /limit for a number in YAML is 1024 characters/)
    assert.match(refusal(`${number}: a\n`).message, /limit for a number in YAML is 1024 characters/)
  }
  assert.deepEqual(parseYamlObject(`a: "${digits}"\nb: x${digits}\n`).value, { a: digits, b: `x${digits}` })
})

void test('YAML that is too deep is rejected where it exceeds the limit, and the rest is not read', () => {
  for (const opened of ['{', '[{', '[', '- ', '? ']) {
    // The unterminated string at the end would be reported if the text were read to its end.
    const { message } = refusal(`${opened.repeat(1000)}"`)
    assert.equal(message, 'exceeded the nesting depth of 200', opened)
  }
  const flow = parseYamlObject(`a: ${'['.repeat(190)}${']'.repeat(190)}\n`).value
  assert.equal(JSON.stringify(flow).length, '{"a":}'.length + 380)
  assert.deepEqual(parseYamlObject(`a: "${'{['.repeat(500)}"\nb: |\n  ${'- '.repeat(500)}\n`).value, {
    ...{ a: '{['.repeat(500), b: `${'- '.repeat(500)}\n` },
  })
  const many = parseYamlObject(lines(300, (at) => `k${at}: [{a: 1}]`)).value
  assert.equal(Object.keys(many).length, 300)
  assert.equal((parseYamlObject(`a:\n${'- - 1\n'.repeat(300)}`).value['a'] as unknown[]).length, 300)
})
