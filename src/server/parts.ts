import type { Registry as MetricsRegistry } from 'prom-client'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import type { Authorizer } from '../auth/decision.ts'
import type { IssuerDocuments } from '../auth/service-accounts/issuer-documents.ts'
import type { Backends } from '../backends/backends.ts'
import type { Health } from '../health/health.ts'
import type { JoinService } from '../membership/join-service.ts'
import type { MemberAdmin } from '../membership/member-admin.ts'
import type { Members } from '../membership/members.ts'
import type { StateRepair } from '../membership/state-repair.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Registry } from '../registry/calls/verb.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { TlsPolicy, TlsFiles } from './http/tls-policy.ts'
import type { SettingsStore } from './routes/settings.ts'
import type { OperatedAuthorities } from './routes/signing-authorities.ts'
import type { OperatedKeys } from './routes/signing-keys.ts'
import type { CertificatesBody } from './routes/certificates.ts'
import type { OperatedWebhooks } from './routes/webhooks.ts'
import type { ServerLog } from './calls/server-log.ts'
import type { ServerLimits } from './load/server-limits.ts'
import type { OpenApiDocuments } from './openapi/documents.ts'
import type { SnapshotProvider } from './routes/snapshot-provider.ts'
import type { BuildInfo } from '../build-info.ts'

/** The parts that the server is built from. The server closes only what it opened itself. */
export type ServerDependencies = {
  readonly registry: Registry
  /** The kinds that clients see. */
  readonly served: Catalog
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  /** Changes whenever a user may have lost a permission. */
  readonly accessVersion: () => number
  /** Whether this member has reached no quorum for so long that it must not decide. */
  readonly isAccessStale: () => boolean
  readonly health: Health
  readonly members: Members
  /** The name of this member, returned with every read. */
  readonly memberName: string
  /** Membership changes. */
  readonly joinService: Pick<JoinService, 'issue' | 'join'>
  readonly memberAdmin: Pick<MemberAdmin, 'change'>
  readonly stateRepair: Pick<StateRepair, 'decide'>
  /** The replicated settings, as operators see and change them. */
  readonly store: SettingsStore
  /** The signing keys that members share, as operators see and change them. Unset: not served. */
  readonly signingKeys?: OperatedKeys
  /** The signing authorities that members share. Unset: not served. */
  readonly signingAuthorities?: OperatedAuthorities
  /** The certificates that this member uses. Unset: not served. */
  readonly certificates?: () => CertificatesBody
  /** The admission webhooks, as operators see and suspend them. Unset: not served. */
  readonly webhooks?: OperatedWebhooks
  /** The documents of the issuer of service account tokens. Unset or null: not served. */
  readonly issuer?: IssuerDocuments | null
  /** The servers that callers reach through this one. */
  readonly backends: Backends
  /** See `ConnectDependencies`. Unset: the usual ones. */
  readonly userHeaders?: readonly string[]
  /** For backups. */
  readonly snapshots: SnapshotProvider
  readonly openapi: OpenApiDocuments
  readonly names: Names
  readonly version: BuildInfo
  readonly clock: Clock
  readonly random: Random
  readonly log: ServerLog
  readonly metrics: MetricsRegistry
  /** The audit trail. Unset or null: none. */
  readonly audit?: AuditTrail | null
  /**
   * null: no TLS, and so no client certificates. For tests, and behind a proxy on the same machine.
   */
  readonly tls: TlsFiles | null
  /** Unset: `defaultTlsPolicy`. */
  readonly tlsPolicy?: TlsPolicy
  /**
   * HTTP/2 costs more processor time per small request; without it, clients that would choose it
   * use 1.1.
   */
  readonly protocols: 'http2-and-http1' | 'http1'
  readonly limits: ServerLimits
  /** Called when an invariant broke while serving a request: logs, flushes and exits. */
  readonly crash: (broken: Error) => void
}
