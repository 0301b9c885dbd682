import type { Random } from '../../../base/random.ts'
import { certificateApprover } from '../../controllers/certificates/approval.ts'
import { certificateCleaner } from '../../controllers/certificates/cleanup.ts'
import { summaryOf } from '../../controllers/certificates/request-summary.ts'
import { certificateSigner } from '../../controllers/certificates/signing.ts'
import type { SigningAuthorities } from '../../controllers/certificates/signing.ts'
import { Informer } from '../../registry/informer.ts'
import type { AccessReviewer } from '../../registry/kinds/access-reviewer.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { prefixOf } from '../../store/key.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

/** The signers of certificates, and the check of permissions for their automatic approval. */
export type CertificateIssuing = {
  readonly random: Random
  readonly reviewers: Pick<AccessReviewer, 'authorize'>
  readonly authorities: SigningAuthorities
  /** The longest lifetime of a certificate. */
  readonly durationMs: number
  /** Takes the next step for the authority that members share. null: files name the authorities */
  readonly maintain: (() => Promise<boolean>) | null
}

export type CertificatesParts = Omit<ControllerParts, 'serverClient' | 'serverEvents' | 'always'> &
  CertificateIssuing

/** Starts the controllers of certificate signing requests. */
export function startCertificates(of: CertificatesParts): readonly Stop[] {
  const { store, clock, names, catalog, enabled, log, clientOf, eventsOf, switched } = of
  const own = ['csrapproving', 'csrcleaner', 'csrsigning'] as const
  if (!own.some((name) => enabled.has(name))) return []
  const requests = new Informer({
    ...{ store, clock },
    prefix: prefixOf({
      ...{ group: names.group('certificates'), plural: 'certificatesigningrequests', namespace: null },
    }),
    parse: (stored) => summaryOf(names, parseStored(stored)),
  })
  const parts = { clock, names, catalog, requests }
  const approving = certificateApprover({
    ...{ ...parts, client: clientOf('csrapproving'), events: eventsOf('csrapproving') },
    reviewers: of.reviewers,
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'certificate request not approved yet'),
  })
  const signing = certificateSigner({
    ...{ ...parts, client: clientOf('csrsigning'), events: eventsOf('csrsigning') },
    ...{ authorities: of.authorities, durationMs: of.durationMs, random: of.random },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'certificate not signed yet'),
  })
  const cleaning = certificateCleaner({
    ...{ ...parts, client: clientOf('csrcleaner'), events: eventsOf('csrcleaner') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'certificate request not removed yet'),
  })
  requests.start()
  return [
    () => requests.close(),
    ...switched('csrapproving', approving),
    ...switched('csrsigning', signing),
    ...switched('csrcleaner', cleaning),
  ]
}
