/*
 * Goal: operators see conversion webhooks like those of admission, and learn why one cannot be
 * suspended.
 * Method: a definition whose objects a real HTTPS server converts; the parts of the shipped server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatedWebhooks } from '../../../../src/app/operated-webhooks.ts'
import { textMember, objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { ConversionKit, definitionName, gadget, v1, v2 } from '../conversion/conversion-kit.ts'
import { conversionResponse } from '../../../support/fixtures/conversion-hook.ts'
import { refused } from '../registry/fixture.ts'

void test('a conversion webhook is described with the versions that depend on it, its calls and its last failure, and cannot be suspended', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api, converter } = kit
  const changed: string[] = []
  const operated = operatedWebhooks({
    admission: {
      describe: () => [],
      change: (_, { configuration }) => Promise.resolve(void changed.push(configuration)),
    },
    conversion: converter ?? assert.fail('there is one'),
    catalog: api.catalog,
  })
  await api.create({ kind: v1, body: gadget('a') })
  await api.get({ kind: v2, name: 'a' })
  await api.create({ kind: v1, body: gadget('b') })
  kit.answer = () => ({ status: 500, body: '' })
  await refused(api.get({ kind: v2, name: 'b' }))
  kit.answer = (call) => conversionResponse(call, { result: { status: 'Failure', message: 'no' } })
  await refused(api.get({ kind: v2, name: 'b' }))
  const [shown = {}, ...others] = operated.describe()
  assert.deepEqual(others, [])
  const names = ['type', 'configuration', 'failurePolicy', 'rules', 'allowed', 'denied', 'failed', 'state']
  assert.deepEqual(
    names.map((name) => shown[name]),
    [
      ...['conversion', definitionName, 'Fail', ['reads and writes of v2 (stored: v1)']],
      ...[1, 1, 1, 'closed'],
    ],
  )
  assert.match(textMember(objectMember(shown, 'lastFailure'), 'why'), /no$/)
  // A failure after the objects were sent counts once for each namespace.
  for (const namespace of ['n1', 'n2', 'n3', 'n4', 'n5']) {
    await api.create({ kind: 'Namespace', body: { metadata: { name: namespace } } })
    await api.create({ kind: v1, namespace, body: gadget('a') })
    kit.answer = () => ({ status: 500, body: '' })
    await refused(api.get({ kind: v2, namespace, name: 'a' }))
  }
  await refused(api.get({ kind: v2, name: 'b' }))
  const after: JsonObject = operated.describe()[0] ?? {}
  assert.deepEqual([after['failed'], after['skipped'], after['state']], [6, 1, 'open'])

  const { context } = api.request({})
  const change = { configuration: definitionName, type: null, suspendedUntilMs: 1 } as const
  const { code, message } = await refused(operated.change(context, change))
  assert.equal(code, 400)
  assert.match(message, /the conversion webhook of gadgets\.test\.example cannot be suspended/)
  await operated.change(context, { ...change, configuration: 'policy' })
  await operated.change(context, { ...change, type: 'mutating' })
  assert.deepEqual(changed, ['policy', definitionName])
})
