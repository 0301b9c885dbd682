import type { Fixture } from '../registry/fixture.ts'

export const tokenSecret = '0123456789abcdef'
export const clusterKubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\n'

/**
 * Creates a bootstrap token that signs.
 *
 * @param more further members, in plain text
 * @param type the type of the Secret; by default that of bootstrap tokens
 */
export async function storeToken(
  api: Fixture,
  id: string,
  more: Readonly<Record<string, string>>,
  type: string = api.names.secretTypes.bootstrapToken,
): Promise<void> {
  const { systemNamespace } = api.names
  const stringData = {
    'token-id': id,
    'token-secret': tokenSecret,
    'usage-bootstrap-signing': 'true',
    ...more,
  }
  const metadata = { name: `bootstrap-token-${id}` }
  const body = { metadata, type, stringData }
  await ensureNamespace(api, systemNamespace)
  await api.create({ kind: 'Secret', namespace: systemNamespace, body })
}

/** Creates the ConfigMap that the tokens sign. */
export async function storeClusterInfo(
  api: Fixture,
  data: Readonly<Record<string, string>> = { kubeconfig: clusterKubeconfig },
): Promise<void> {
  const { publicNamespace } = api.names
  await ensureNamespace(api, publicNamespace)
  const body = { metadata: { name: 'cluster-info' }, data }
  await api.create({ kind: 'ConfigMap', namespace: publicNamespace, body })
}

async function ensureNamespace(api: Fixture, name: string): Promise<void> {
  const { items } = await api.list({ kind: 'Namespace' })
  if (items.some(({ metadata }) => metadata?.name === name)) return
  await api.create({ kind: 'Namespace', body: { metadata: { name } } })
}
