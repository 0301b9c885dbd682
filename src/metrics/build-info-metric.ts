import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'

type VersionDocument = {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

/** Registers the content of `/version` as labels. @source component-base `metrics/version.go` */
export function registerBuildInfo(register: Registry, version: VersionDocument): void {
  const labels = {
    ...{ major: version.major, minor: version.minor, platform: version.platform },
    ...{ git_version: version.gitVersion, git_commit: version.gitCommit },
    ...{ git_tree_state: version.gitTreeState, build_date: version.buildDate },
    ...{ go_version: version.goVersion, compiler: version.compiler },
  }
  new Gauge({
    name: 'kubernetes_build_info',
    help: 'Always 1; the labels are the content of /version.',
    labelNames: Object.keys(labels) as (keyof typeof labels)[],
    registers: [register],
  }).set(labels, 1)
}
