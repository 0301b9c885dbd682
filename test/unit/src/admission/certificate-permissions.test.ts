/*
 * Goal: approving requests of a signer needs `approve` on it, signing them needs `sign`. Method:
 * the shipped plugin, verbs and authorizer, with a rule for each caller.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateApproval, certificateSigning } from '../../../../src/admission/certificate-permissions.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { rbac } from '../../../../src/auth/rbac.ts'
import { reviewersOf } from '../../../../src/auth/reviewers.ts'
import type { RuleSource } from '../../../../src/auth/rules.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const names = namesOf('orch.io')
const kind = 'CertificateSigningRequest'
const name = 'csr-1'

/** Each caller is named after the verb and the signer it may use. */
const source: RuleSource = {
  version: 1,
  clusterGrants: (user) => {
    const [verb = '', signer = ''] = user.name.split(' ')
    const apiGroups = [names.group('certificates')]
    return [{ rules: [{ verbs: [verb], apiGroups, resources: ['signers'], resourceNames: [signer] }] }]
  },
  namespaceGrants: () => [],
}

function open(): Promise<Fixture> {
  const reviewers = reviewersOf({ authorizer: rbac(source), tokens: [], audiences: [] })
  const plugins = [certificateApproval({ names, reviewers }), certificateSigning({ names, reviewers })]
  return Fixture.open({ admission: admissionChain(plugins) })
}

function patchAs(api: Fixture, caller: string, subresource: string, body: JsonObject): Promise<Got> {
  const user = { name: caller, uid: '', groups: [], extra: {} }
  return api.patch({ kind, name, user, subresource, body })
}

void test('spec 3.2, 5.7: approval needs approve on the signer, a status needs sign', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const spec = {
    request: Buffer.from(certificateRequest({ commonName: 'jane' })).toString('base64'),
    signerName: 'a.io/b',
    usages: ['client auth'],
  }
  await api.create({ kind, body: { metadata: { name }, spec } })
  const approved = { status: { conditions: [{ type: 'Approved', status: 'True' }] } }
  for (const caller of ['sign a.io/b', 'approve a.io/c', 'approve b.io/*', 'approve *']) {
    const seen = await refused(patchAs(api, caller, 'approval', approved))
    assert.equal(seen.code, 403, caller)
    assert.ok(
      seen.message.includes('user not permitted to approve requests with signerName "a.io/b"'),
      seen.message,
    )
  }
  assert.equal((await patchAs(api, 'approve a.io/b', 'approval', approved)).code, 200)
  assert.equal((await patchAs(api, 'approve a.io/*', 'approval', approved)).code, 200)
  const { object } = await api.get({ kind, name })
  const { conditions = [] } = object['status'] as { readonly conditions?: readonly JsonObject[] }
  const failed = { status: { conditions: [...conditions, { type: 'Failed', status: 'True' }] } }
  const seen = await refused(patchAs(api, 'approve a.io/b', 'status', failed))
  assert.deepEqual([seen.code, seen.message.includes('user not permitted to sign')], [403, true])
  // A write that does not change the status needs no permission for it.
  const labels = { metadata: { labels: { a: 'b' } } }
  assert.equal((await patchAs(api, 'somebody', 'status', labels)).code, 200)
  assert.equal((await patchAs(api, 'sign a.io/*', 'status', failed)).code, 200)
})
