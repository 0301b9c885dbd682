/*
 * Measures what authentication and authorization cost a request. Authentication is by a bearer
 * token of the token file, which is looked up each time: results are cached by connection, and the
 * requests have no connection. Authorization is by RBAC with its caches filled, with two policies.
 * The first is the default policy plus one role of the user. The second adds 1,000 roles and
 * bindings of other users to it.
 *
 *   node dist/bench/micro/access.js [--roles 1000] [--decisions 200000] [--rounds 7]
 *
 * One process without a network. CPU of the process in microseconds per request, median of the
 * rounds, lowest and highest in brackets; the two policies alternate, so that ratios hold on a busy
 * machine.
 */
import { parseArgs } from 'node:util'
import type { Action } from '../../src/api/action.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Authenticator } from '../../src/auth/authenticate.ts'
import { authorizerFor } from '../../src/auth/authorize.ts'
import { defaultPolicy } from '../../src/auth/bootstrap/default-policy.ts'
import type { Authorizer } from '../../src/auth/decision.ts'
import { StoredRules } from '../../src/auth/stored-rules.ts'
import type { StoredBinding, StoredRole } from '../../src/auth/stored-policy.ts'
import { subjectName } from '../../src/auth/rules.ts'
import { tokenFile } from '../../src/auth/token-file.ts'
import { formatTable } from '../../src/cli/terminal.ts'
import type { InformerChange } from '../../src/registry/informer.ts'
import { keyOf } from '../../src/store/key.ts'

const { values: options } = parseArgs({
  options: {
    roles: { type: 'string', default: '1000' },
    decisions: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '7' },
  },
})
const decisions = Number(options.decisions)
const rounds = Number(options.rounds)

const authenticator = new Authenticator({
  methods: [tokenFile('admin-token,admin,1,system:masters\njane-token,jane,2,writers\n', 'tokens.csv')],
  allowAnonymous: true,
})

const action: Action = {
  ...{ kind: 'resource', verb: 'get', group: '', version: 'v1', resource: 'configmaps', subresource: '' },
  ...{ namespace: 'ns-3', name: 'settings' },
}
const forbidden: Action = { ...action, resource: 'secrets' }

type Case = { readonly what: string; readonly token: string; readonly action: Action }
const cases: readonly Case[] = [
  { what: 'system:masters', token: 'admin-token', action },
  { what: 'a user with a role in the namespace', token: 'jane-token', action },
  { what: 'the same user, not allowed', token: 'jane-token', action: forbidden },
]

/** @param count roles in ten namespaces, each bound to another user, besides the role of jane */
function authorizerWith(count: number): Authorizer {
  const { roles, bindings } = defaultPolicy(namesOf('k8s.io'))
  const clusterRoles: StoredRole[] = roles.map(({ name, rules }) => ({ namespace: '', name, rules }))
  const clusterRoleBindings: StoredBinding[] = bindings.map(({ name, role, subjects }) => ({
    ...{ namespace: '', name, role: { kind: 'ClusterRole', name: role } },
    subjects: subjects.map(subjectName),
  }))
  const rules = [
    {
      verbs: ['get', 'list', 'watch'],
      apiGroups: [''],
      resources: ['configmaps', 'pods'],
      resourceNames: [],
    },
  ]
  const namespacedRoles: StoredRole[] = []
  const roleBindings: StoredBinding[] = []
  for (let at = 0; at <= count; at++) {
    const name = `role-${at}`
    const namespace = `ns-${at === count ? 3 : at % 10}`
    namespacedRoles.push({ namespace, name, rules })
    const subject = subjectName({ kind: 'User', name: at === count ? 'jane' : `user-${at}` })
    roleBindings.push({ namespace, name, role: { kind: 'Role', name }, subjects: [subject] })
  }
  const stored = new StoredRules({
    roles: staticInformer(namespacedRoles),
    clusterRoles: staticInformer(clusterRoles),
    roleBindings: staticInformer(roleBindings),
    clusterRoleBindings: staticInformer(clusterRoleBindings),
  })
  return authorizerFor(['RBAC'], stored)
}

const NO_KEY = keyOf({ group: '', plural: '', namespace: '', name: '' })

/** Returns an informer whose objects never change. It reports all of them to a new subscriber. */
function staticInformer<T>(objects: readonly T[]): {
  subscribe(listener: (change: InformerChange<T>) => void): () => void
} {
  return {
    subscribe: (listener) => {
      for (const value of objects) listener({ kind: 'set', key: NO_KEY, value, previous: null })
      return () => undefined
    },
  }
}

/** Returns microseconds of CPU per request. */
function measure(authorizer: Authorizer, { token, action: wanted }: Case): number {
  const credentials = { authorization: `Bearer ${token}`, connection: null, certificates: () => [] }
  const before = process.cpuUsage()
  for (let at = 0; at < decisions; at++) {
    const user = authenticator.authenticate(credentials)
    if (user === null || user instanceof Promise) throw new Error('the token is not known')
    void authorizer.authorize(user, wanted)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / decisions
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const [lowest = 0, median = 0, highest = 0] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)]
  return `${median.toFixed(2)} (${lowest.toFixed(2)}-${highest.toFixed(2)})`
}

const small = authorizerWith(0)
const large = authorizerWith(Number(options.roles))
const lines = [['caller', 'default policy', `with ${options.roles} more roles`, 'ratio']]
for (const one of cases) {
  const costs: [number[], number[]] = [[], []]
  const ratios: number[] = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const pair = [measure(small, one), measure(large, one)] as const
    if (round === 0) continue
    costs[0].push(pair[0])
    costs[1].push(pair[1])
    ratios.push(pair[1] / pair[0])
  }
  lines.push([one.what, spread(costs[0]), spread(costs[1]), spread(ratios)])
}
for (const line of formatTable(lines)) console.log(line)
