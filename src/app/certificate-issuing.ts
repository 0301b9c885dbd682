import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import type { CertificateIssuing } from './controllers/certificates.ts'
import type { MemberContext } from './context.ts'
import type { OpenedKeyRing } from './key-ring.ts'
import { sharesAuthority, signingAuthorities } from './signing-authorities.ts'

/**
 * Returns the signers as the flags configure them.
 *
 * @throws StartError `keys` when the files of a signer cannot be used
 */
export function certificateIssuing(
  { config, clock, random, log }: MemberContext,
  { authorities, authorityRing }: OpenedKeyRing,
  reviewers: AccessReviewer,
): CertificateIssuing {
  return {
    ...{ random, reviewers },
    authorities: signingAuthorities({ config, clock, log, shared: authorities }),
    durationMs: config['cluster-signing-duration'],
    maintain: sharesAuthority(config) ? () => authorityRing.maintain() : null,
  }
}
