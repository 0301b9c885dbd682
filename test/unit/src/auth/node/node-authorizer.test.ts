/*
 * Goal: a node may do what upstream 1.24 lets it do, and reads only Secrets, ConfigMaps, claims and
 * volumes that its own Pods use.
 * Method: a table of requests against a graph with one object of each kind.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceAction } from '../../../../../src/api/action.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../../src/api/metadata/names.ts'
import { defaultPolicy } from '../../../../../src/auth/bootstrap/default-policy.ts'
import { nodeAuthorizer } from '../../../../../src/auth/node/node-authorizer.ts'
import { authenticatedUser } from '../../../../../src/auth/user.ts'

const needed = ['secrets/x/s', 'configmaps/x/m', 'persistentvolumeclaims/x/c', 'serviceaccounts/x/a']

function decider(domain: ApiDomain) {
  const names = namesOf(domain)
  const graph = {
    needs: (node: string, reference: string) => node === 'n1' && needed.includes(reference),
    needsVolume: (node: string, name: string) => node === 'n1' && name === 'v',
    isAttachedTo: (node: string, name: string) => node === 'n1' && name === 'va',
  }
  const rules = defaultPolicy(names).roles.flatMap((role) => (role.name === 'system:node' ? role.rules : []))
  const authorizer = nodeAuthorizer({ names, graph, rules })
  return { names, authorizer }
}

const node = authenticatedUser({ name: 'system:node:n1', groups: ['system:nodes'] })

/**
 * Parses an action such as `get secrets x/s`: verb, resource, namespace and name. A group precedes
 * the resource with a colon, without its domain.
 */
function action(text: string, group: (stem: string) => string): ResourceAction {
  const [verb = '', path = '', object = ''] = text.split(' ')
  const [qualified = '', subresource = ''] = path.split('/')
  const [stem = '', resource = ''] = qualified.includes(':') ? qualified.split(':') : ['', qualified]
  const [namespace = '', name = ''] = object.includes('/') ? object.split('/') : ['', object]
  return {
    ...{ kind: 'resource', verb, group: stem === '' ? '' : group(stem), version: 'v1' },
    ...{ resource, subresource, namespace, name },
  }
}

const permitted = [
  'get secrets x/s',
  'list secrets x/s',
  'watch secrets x/s',
  'get configmaps x/m',
  'watch configmaps x/m',
  'get persistentvolumeclaims x/c',
  'patch persistentvolumeclaims/status x/c',
  'update persistentvolumeclaims/status x/c',
  'get persistentvolumes v',
  'get storage:volumeattachments va',
  'create serviceaccounts/token x/a',
  'create coordination:leases LEASES/',
  'get coordination:leases LEASES/n1',
  'update coordination:leases LEASES/n1',
  'delete coordination:leases LEASES/n1',
  'create storage:csinodes',
  'patch storage:csinodes n1',
  // Rules for all nodes.
  'list pods',
  'create pods x/',
  'delete pods x/p',
  'patch pods/status x/p',
  'create pods/eviction x/p',
  'get nodes n2',
  'patch nodes/status n1',
  'create events x/',
  'list services',
  'create certificates:certificatesigningrequests',
  'create authentication:tokenreviews',
  'list storage:csidrivers',
  'watch node:runtimeclasses',
]

const refused = [
  'get secrets x/other',
  'get secrets y/s',
  'list secrets x/',
  'list secrets s',
  'watch secrets',
  'update secrets x/s',
  'delete configmaps x/m',
  'create secrets x/',
  'get secrets/status x/s',
  'list persistentvolumeclaims x/c',
  'update persistentvolumeclaims x/c',
  'get persistentvolumeclaims/status x/c',
  'patch persistentvolumeclaims/status x/other',
  'list persistentvolumes v',
  'get persistentvolumes other',
  'get storage:volumeattachments other',
  'watch storage:volumeattachments va',
  'create serviceaccounts/token x/other',
  'get serviceaccounts x/a',
  'create serviceaccounts x/',
  'get coordination:leases LEASES/n2',
  'list coordination:leases LEASES/n1',
  'get coordination:leases x/n1',
  'patch storage:csinodes n2',
  'list storage:csinodes n1',
  'delete nodes n1',
  'update pods x/p',
  'create rbac.authorization:clusterroles',
  'get apps:deployments x/d',
]

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 5.7: the mode Node allows a node its own objects and the common rules in ${domain}`, async () => {
    const { names, authorizer } = decider(domain)
    const decide = async (text: string, user = node) => {
      const spelled = text.replace('LEASES', names.nodeLeaseNamespace)
      return authorizer.authorize(
        user,
        action(spelled, (stem) => names.group(stem)),
      )
    }
    for (const text of permitted) assert.equal((await decide(text)).kind, 'allow', text)
    for (const text of refused) assert.equal((await decide(text)).kind, 'no-opinion', text)
    const other = authenticatedUser({ name: 'system:node:n2', groups: ['system:nodes'] })
    for (const text of permitted.slice(0, 11)) {
      const decision = await decide(text, other)
      assert.ok(decision.kind === 'no-opinion' && decision.reason.includes('no relationship'), text)
    }
  })
}

void test('there is no opinion on users that are not nodes, and on nodes without a name', async () => {
  const { names, authorizer } = decider('k8s.io')
  const group = (stem: string): string => names.group(stem)
  for (const [name, groups] of [
    ['system:node:n1', []],
    ['system:node:', ['system:nodes']],
    ['n1', ['system:nodes']],
    ['ann', ['writers']],
  ] as const) {
    const user = authenticatedUser({ name, groups })
    assert.equal((await authorizer.authorize(user, action('list pods', group))).kind, 'no-opinion', name)
    assert.deepEqual(authorizer.rulesOf?.(user, 'x'), { rules: [], unlisted: [] })
  }
  assert.deepEqual(authorizer.rulesOf?.(node, 'x'), { rules: [], unlisted: ['Node'] })
})
