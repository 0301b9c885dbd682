import { ConfigError } from './errors.ts'
import { custom } from './flag.ts'

/** Names as in the flags of upstream and in Go, with the names of the runtime. */
export const tlsVersions = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const
const tooOld: readonly string[] = ['VersionTLS10', 'VersionTLS11']

export type TlsVersion = keyof typeof tlsVersions
const versionNames = Object.keys(tlsVersions) as readonly TlsVersion[]

const suites13: Readonly<Record<string, string>> = {
  TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
  TLS_AES_256_GCM_SHA384: 'TLS_AES_256_GCM_SHA384',
  TLS_CHACHA20_POLY1305_SHA256: 'TLS_CHACHA20_POLY1305_SHA256',
}

/** Names as in Go; two suites have an older name, too. */
const suites12: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
}

const suites: Readonly<Record<string, string>> = { ...suites13, ...suites12 }

/** `--tls-min-version`. @source apiserver `component-base/cli/flag/ciphersuites_flag.go` */
export function tlsMinVersionFlag() {
  return custom<TlsVersion>({
    fallback: 'VersionTLS12',
    placeholder: versionNames.join('|'),
    help: 'Oldest TLS version that the client port accepts.',
    parse: (values) => {
      const given = values.at(-1) ?? ''
      const found = versionNames.find((name) => name === given)
      if (found !== undefined) return found
      const known = `must be one of ${versionNames.join(', ')}`
      throw new ConfigError(tooOld.includes(given) ? `${known}: older ones are not safe` : known)
    },
  })
}

/** `--tls-cipher-suites`; the value null: not set. */
export function tlsCipherSuitesFlag() {
  return custom<readonly string[] | null>({
    fallback: null,
    placeholder: 'SUITE,…',
    help:
      'Cipher suites of the client port, most preferred first. Unset: the defaults of the runtime. Without a suite ' +
      `of TLS 1.3 all of them are offered. Known: ${Object.keys(suites).join(', ')}.`,
    parse: (values) => {
      const given = values.flatMap((value) => value.split(',').map((name) => name.trim()))
      const named = given.filter((name) => name !== '')
      if (named.length === 0) return null
      const ciphers = named.map(suiteOf)
      const has13 = named.some((name) => Object.hasOwn(suites13, name))
      return [...new Set(has13 ? ciphers : [...Object.values(suites13), ...ciphers])]
    },
  })
}

/** @throws ConfigError */
function suiteOf(name: string): string {
  const suite = Object.hasOwn(suites, name) ? suites[name] : undefined
  if (suite !== undefined) return suite
  const known = Object.keys(suites).join(', ')
  throw new ConfigError(`does not know the suite ${JSON.stringify(name.slice(0, 64))}: known are ${known}`)
}
