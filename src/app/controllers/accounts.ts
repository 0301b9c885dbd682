import { objectMember, textMember } from '../../api/json.ts'
import { accountSecrets } from '../../controllers/account-secrets.ts'
import { defaultAccounts } from '../../controllers/default-accounts.ts'
import { rootCaPublisher } from '../../controllers/root-ca.ts'
import { readTokenSecret } from '../../controllers/token-secret.ts'
import { tokenSecrets } from '../../controllers/token-secrets.ts'
import { Informer } from '../../registry/informer.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import type { TokenIssuer } from '../../registry/kinds/token-issuer.ts'
import { partsOf, prefixOf } from '../../store/key.ts'
import { coreInformer } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'
import { accountQueue } from './queue-names.ts'

/** The CA certificates that verify the servers, which may change while the server runs. */
export interface RootCaSource {
  /** In PEM. null: not known */
  readonly pem: string | null
  /** Calls the listener after a change. */
  onChange(listener: () => void): void
}

export type AccountsParts = ControllerParts & {
  readonly tokens: TokenIssuer
  readonly rootCa: RootCaSource
  /** Calls the listener when a key that signs tokens may have been revoked. */
  readonly onKeysChanged: (listener: () => void) => void
}

/** Starts the controllers of service accounts and of their tokens. */
export function startAccounts(of: AccountsParts): readonly Stop[] {
  const { store, clock, names, catalog, tokens, onKeysChanged, rootCa, log } = of
  const { clientOf, eventsOf, switched } = of
  const kind = { names, rootCa: () => rootCa.pem }
  const secrets = coreInformer(of, 'secrets', (stored) => readTokenSecret(kind, stored))
  const accounts = coreInformer(of, 'serviceaccounts', ({ uid }) => uid)
  const namespaces = coreInformer(of, 'namespaces', ({ terminating }) => !terminating)
  const published = new Informer({
    ...{ store, clock, prefix: prefixOf({ group: '', plural: 'configmaps', namespace: null }) },
    keeps: ({ key }) => partsOf(key).name === names.rootCaConfigMap,
    parse: (stored) => textMember(objectMember(parseStored(stored), 'data'), names.rootCaKey),
  })
  const parts = { clock, catalog, accounts }
  const onRootCaChanged = (listener: () => void): void => rootCa.onChange(listener)
  const filling = tokenSecrets({
    ...{ ...parts, ...kind, tokens, onKeysChanged, onRootCaChanged, secrets },
    ...{ client: clientOf('serviceaccount-token'), events: eventsOf('serviceaccount-token') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'token Secret not filled yet'),
  })
  const keeping = defaultAccounts({
    ...{ ...parts, client: clientOf('serviceaccount'), events: eventsOf('serviceaccount'), namespaces },
    onError: (name, cause) => log.warn({ namespace: name, err: cause }, 'no default account yet'),
  })
  const publishing = rootCaPublisher({
    ...{ ...parts, names, namespaces, published, rootCa: kind.rootCa, onRootCaChanged },
    ...{ client: clientOf('root-ca-cert-publisher'), events: eventsOf('root-ca-cert-publisher') },
    onError: (name, cause) => log.warn({ namespace: name, err: cause }, 'root CA not published yet'),
  })
  const creating = accountSecrets({
    ...{ ...parts, names, secrets },
    ...{ client: clientOf('serviceaccount-token'), events: eventsOf('serviceaccount-token') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'token Secret not created yet'),
  })
  const informers = [secrets, accounts, namespaces, published]
  for (const informer of informers) informer.start()
  return [
    ...informers.map((informer) => () => informer.close()),
    ...switched('serviceaccount-token', filling),
    ...(names.keepsTokenSecrets ? switched('serviceaccount-token', creating, accountQueue) : []),
    ...switched('serviceaccount', keeping),
    ...switched('root-ca-cert-publisher', publishing),
  ]
}
