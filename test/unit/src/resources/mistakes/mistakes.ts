import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergePatch } from '../../../../../src/api/patch/merge-patch.ts'
import { objectMember, textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { details, Fixture, refused } from '../../registry/fixture.ts'
import type { Seen } from '../../registry/fixture.ts'

/**
 * A mistake: the change of a valid object, as a merge patch, and each cause that upstream 1.24
 * reports: its reason, and its field and message as clients show them. An ellipsis stands for a
 * difference of two specs, or for a value that upstream prints with addresses of memory.
 */
export type Mistake = readonly [title: string, change: JsonObject, ...causes: string[]]

export type Valid = { readonly kind: string; readonly group?: string; readonly body: JsonObject }

/** Makes each mistake in an object that is created by a dry run, so that nothing is stored. */
export function refuseNew(valid: Valid, mistakes: readonly Mistake[]): void {
  void test(`a new ${valid.kind} with a common mistake is refused in upstream's words`, async (t) => {
    const api = await Fixture.open({ domain: 'k8s.io' })
    t.after(() => api.close())
    await refuseEach(valid, mistakes, ({ kind }, change) =>
      api.create({ kind, query: { dryRun: 'All' }, body: mergePatch(valid.body, change) }),
    )
  })
}

/** Makes each mistake in an update of the valid object, which is stored before. */
export function refuseUpdates(valid: Valid, mistakes: readonly Mistake[], ...others: JsonObject[]): void {
  void test(`a common mistake in an update of a ${valid.kind} is refused in upstream's words`, async (t) => {
    const api = await Fixture.open({ domain: 'k8s.io' })
    t.after(() => api.close())
    for (const body of [...others, valid.body]) await api.create({ kind: valid.kind, body })
    const name = nameOf(valid.body)
    await refuseEach(valid, mistakes, ({ kind }, body) =>
      api.patch({ kind, name, query: { dryRun: 'All' }, body }),
    )
  })
}

async function refuseEach(
  valid: Valid,
  mistakes: readonly Mistake[],
  write: (valid: Valid, change: JsonObject) => Promise<unknown>,
): Promise<void> {
  assert.equal(new Set(mistakes.map(([title]) => title)).size, mistakes.length, 'a title is used twice')
  const wanted: Mistake[] = []
  const seen: Mistake[] = []
  for (const mistake of mistakes) {
    const [title, change, ...causes] = mistake
    const reported = await causesOf(write(valid, change), valid, nameOf(mergePatch(valid.body, change)))
    wanted.push(mistake)
    seen.push([title, change, ...reported.map((text, index) => withEllipsis(text, causes[index]))])
  }
  assert.deepEqual(seen, wanted)
}

async function causesOf(call: Promise<unknown>, of: Valid, name: string): Promise<readonly string[]> {
  const error = await refused(call).catch((cause: unknown) => String(cause))
  if (typeof error === 'string') return [error]
  if (error.code !== 422) return [`${error.code} ${error.reason}: ${error.message}`]
  assert.deepEqual([error.reason, textMember(error.status, 'status')], ['Invalid', 'Failure'])
  const causes = (details(error)['causes'] ?? []) as readonly JsonObject[]
  checkSummary(error, causes, of, name)
  return causes.map((cause) => {
    const [reason, field, message] = ['reason', 'field', 'message'].map((part) => textMember(cause, part))
    return `${reason} ${field}: ${message}`
  })
}

/** The message names the object, and repeats each different cause once. */
function checkSummary(error: Seen, causes: readonly JsonObject[], of: Valid, name: string): void {
  const { kind, group = '' } = of
  const texts = causes.map((cause) => `${textMember(cause, 'field')}: ${textMember(cause, 'message')}`)
  const each = [...new Set(texts)]
  const all = each.length === 1 ? each[0] : `[${each.join(', ')}]`
  const shown = group === '' ? kind : `${kind}.${group}`
  assert.equal(error.message, `${shown} ${JSON.stringify(name)} is invalid: ${all}`)
}

function nameOf(body: unknown): string {
  return textMember(objectMember(body as JsonObject, 'metadata'), 'name')
}

/** Returns the expected text if the text differs from it only where that has an ellipsis. */
function withEllipsis(text: string, wanted: string | undefined): string {
  const [start = '', end, ...more] = wanted?.split('…') ?? []
  if (wanted === undefined || end === undefined || more.length > 0) return text
  const fits = text.length > start.length + end.length && text.startsWith(start) && text.endsWith(end)
  return fits ? wanted : text
}
