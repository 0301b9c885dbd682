import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import type { Operator } from './operator.ts'

/** Upstream's own users and roles: the server creates the roles, and authorizes nodes by Pods. */
const config = {
  'authorization-mode': ['Node', 'RBAC'],
  'enable-admission-plugins': ['NodeRestriction'],
}

const managerToken = 'test-manager-token'
const schedulerToken = 'test-scheduler-token'

function nodeToken(node: string): string {
  return `test-token-of-${node}`
}

/** The bearer tokens of the components that the test simulates. */
export type Tokens = {
  readonly manager: string
  readonly scheduler: string
  readonly deployments: string
  readonly replicaSets: string
  readonly node: (name: string) => string
}

/** Starts three members that know the users of these nodes, of a scheduler and of a controller. */
export async function startCluster(nodes: readonly string[]): Promise<ProcessCluster> {
  const cluster = await ProcessCluster.prepare({ members: 3, config })
  const users = [
    `${managerToken},system:kube-controller-manager,manager`,
    `${schedulerToken},system:kube-scheduler,scheduler`,
    ...nodes.map((node) => `${nodeToken(node)},system:node:${node},${node},"system:nodes"`),
  ]
  appendFileSync(join(cluster.directory, 'tokens.csv'), users.map((user) => `${user}\n`).join(''))
  for (const member of cluster.members) member.start()
  await cluster.waitReady()
  return cluster
}

/** Creates the service accounts of the controllers, and gets a token for each. */
export async function tokensFrom(operator: Operator): Promise<Tokens> {
  const accounts = '/api/v1/namespaces/kube-system/serviceaccounts'
  const account = async (name: string): Promise<string> => {
    await operator.create(accounts, { metadata: { name } })
    const body = { spec: { expirationSeconds: 86_400 } }
    const { status, text } = await operator.create(`${accounts}/${name}/token`, body)
    assert.equal(status, 201, text)
    return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
  }
  return {
    manager: managerToken,
    scheduler: schedulerToken,
    deployments: await account('deployment-controller'),
    replicaSets: await account('replicaset-controller'),
    node: nodeToken,
  }
}
