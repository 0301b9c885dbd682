/*
 * Goal: a response that repeats an earlier one is read as if it were parsed.
 * Method: pairs of responses of one webhook, compared with the result of parsing each alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readResponse } from '../../../../../src/admission/webhooks/read-response.ts'
import type { ExpectedResponse } from '../../../../../src/admission/webhooks/read-response.ts'
import { RepeatedAnswers } from '../../../../../src/admission/webhooks/repeated-answers.ts'

const [first, second] = ['11111111-aaaa-4aaa-8aaa-111111111111', '22222222-bbbb-4bbb-8bbb-222222222222']
const escaped = `\\u0031${first.slice(1)}`
const head = '"apiVersion":"admission.orch.io/v1","kind":"AdmissionReview"'

function review(response: string): string {
  return `{${head},"response":{${response}}}`
}

function expected(uid: string, change: Partial<ExpectedResponse> = {}): ExpectedResponse {
  return { type: 'validating', version: 'v1', group: 'admission.orch.io', uid, ...change }
}

void test('spec 4.6.2: each response is judged by its own uid and text, whatever the webhook returned before', () => {
  const allowed = review(`"uid":"${first}","allowed":true`)
  const firsts = [
    allowed,
    review(`"uid":"${first}","allowed":false,"status":{"code":409}`),
    review(`"uid":"${first}","allowed":true,"warnings":["w"]`),
    review(`"uid":"${first}","allowed":true,"warnings":["${first}"]`),
    review(`"uid":"${escaped}","allowed":true,"auditAnnotations":{"k":"${first}"}`),
    review(`"uid":"${escaped}","${first}":1,"allowed":true`),
    review(`"uid":"x","uid":"${first}","allowed":true`),
    review(`"uid":"${first}","allowed":true,"warnings":["\u00fc"]`),
    `${allowed}${' '.repeat(2000)}`,
    `${allowed} x`,
    review(`"allowed":true`),
  ]
  const seconds = firsts.flatMap((text) => [
    text,
    text.replaceAll(first, second),
    text.replaceAll(first, second.toUpperCase()),
    text.replaceAll(first, second).replace('true', 'null'),
    text.replaceAll(first, second.slice(1)),
    `${text.replaceAll(first, second)} `,
  ])
  const changes: readonly Partial<ExpectedResponse>[] = [
    {},
    { type: 'mutating' },
    { version: 'v1beta1' },
    { group: 'admission.k8s.io' },
  ]
  for (const change of changes) {
    for (const before of firsts) {
      const answers = new RepeatedAnswers()
      const webhook = {}
      answers.read(webhook, Buffer.from(before), expected(first, change))
      for (const text of seconds) {
        const body = Buffer.from(text)
        const wanted = readResponse(body, expected(second, change))
        assert.deepEqual(answers.read(webhook, body, expected(second, change)), wanted, `${before}\n${text}`)
      }
    }
  }
})

void test('a repeated response is not parsed again, and each webhook has its own', () => {
  const answers = new RepeatedAnswers()
  const [one, other] = [{}, {}]
  const read = (webhook: object, uid: string): object =>
    answers.read(webhook, Buffer.from(review(`"uid":"${uid}","allowed":true`)), expected(uid))
  const before = read(one, first)
  assert.equal(read(one, second), before)
  assert.notEqual(read(other, second), before)
})

void test('the operations of a patch are those of one response', () => {
  const answers = new RepeatedAnswers()
  const webhook = {}
  const patch = Buffer.from('[{"op":"add","path":"/data","value":{}}]').toString('base64')
  const read = (uid: string): object =>
    answers.read(
      webhook,
      Buffer.from(review(`"uid":"${uid}","allowed":true,"patchType":"JSONPatch","patch":"${patch}"`)),
      expected(uid, { type: 'mutating' }),
    )
  assert.notEqual(read(second), read(first))
})
