# 日本語。です・ます調。

## ログイン

sign-in-title = ログイン
sign-in-app = { $app } があなたのアカウントの利用を求めています。
sign-in-name = ユーザー名またはメールアドレス
sign-in-password = パスワード
sign-in-button = ログイン
sign-in-wrong = ユーザー名またはパスワードが違います。両方をご確認ください。
sign-in-wrong-address = ここでアカウントを作成した場合は、メールアドレスではなくユーザー名を入力してください。
sign-in-disabled = このアカウントは無効になっています。サーバーの運営者にお問い合わせください。
sign-in-too-many = 試行回数が多すぎます。{ $minutes } 分後にもう一度お試しください。
sign-in-forgot = パスワードをお忘れですか？
sign-in-sign-up = アカウントを作成

## 同意

consent-title = { $app } にアカウントの利用を許可しますか？
consent-account = あなたのアカウント
consent-switch = 別のアカウントを使う
consent-allows = { $app } ができるようになること：
consent-admin-allows = このサーバーの管理者として：
consent-then-host = このあと { $host } に戻ります。
consent-then-device = このあと、この端末のアプリに戻ります。
consent-then-code = このあと、{ $app } に入力するコードが表示されます。
consent-allow = { $app } にアクセスを許可する
consent-deny = 拒否する

consent-all-read = アカウントのすべての情報を見る
consent-all-write = アカウントのすべての情報を変更し、あなたとして操作する
consent-all-both = アカウントのすべての情報を見て変更し、あなたとして操作する
consent-accounts-read = アカウントの情報を見る
consent-accounts-write = プロフィールを変更する
consent-accounts-both = アカウントの情報を見て、プロフィールを変更する
consent-blocks-read = ブロックしている人を見る
consent-blocks-write = 人をブロックし、ブロックを解除する
consent-blocks-both = ブロックしている人を見て変更する
consent-bookmarks-read = ブックマークを見る
consent-bookmarks-write = ブックマークを追加・削除する
consent-bookmarks-both = ブックマークを見て変更する
consent-conversations-write = 会話をミュート・削除する
consent-favourites-read = お気に入りを見る
consent-favourites-write = お気に入りを追加・削除する
consent-favourites-both = お気に入りを見て変更する
consent-filters-read = フィルターを見る
consent-filters-write = フィルターを変更する
consent-filters-both = フィルターを見て変更する
consent-follow-both = フォロー・ブロック・ミュートしている人を見て変更する
consent-follows-read = フォローしている人を見る
consent-follows-write = 人をフォローし、フォローを解除する
consent-follows-both = フォローしている人を見て変更する
consent-lists-read = リストを見る
consent-lists-write = リストを変更する
consent-lists-both = リストを見て変更する
consent-media-write = 画像・音声・動画をアップロードする
consent-mutes-read = ミュートしている人を見る
consent-mutes-write = 人や会話をミュートし、ミュートを解除する
consent-mutes-both = ミュートしている人を見て変更する
consent-notifications-read = 通知と通知のルールを見る
consent-notifications-write = 通知を消去し、通知のルールを変更する
consent-notifications-both = 通知を見て消去し、通知のルールを変更する
consent-profile-read = 名前とプロフィールを見る
consent-push-both = プッシュ通知を送り、通知のルールを見て変更する
consent-reports-write = あなたとして人や投稿を通報する
consent-search-read = あなたとして検索する
consent-statuses-read = 投稿を見る（あなたが見られる非公開の投稿を含む）
consent-statuses-write = あなたとして投稿を公開・編集・削除する
consent-statuses-both = 非公開を含む投稿を見て、あなたとして公開・編集・削除する

consent-admin-all-read = 管理者だけが見られるすべての情報を見る
consent-admin-all-write = 管理者だけが変更できるすべての情報を変更する
consent-admin-all-both = このサーバーのすべての情報を見て変更する
consent-admin-accounts-read = すべてのアカウントとその非公開情報を見る
consent-admin-accounts-write = アカウントを管理する
consent-admin-accounts-both = すべてのアカウントとその非公開情報を見て管理する
consent-admin-reports-read = 通報を見る
consent-admin-reports-write = 通報に対応する
consent-admin-reports-both = 通報を見て対応する
consent-admin-domain_allows-read = 許可されているサーバーを見る
consent-admin-domain_allows-write = 許可されているサーバーを変更する
consent-admin-domain_allows-both = 許可されているサーバーを見て変更する
consent-admin-domain_blocks-read = ブロックされているサーバーを見る
consent-admin-domain_blocks-write = ブロックされているサーバーを変更する
consent-admin-domain_blocks-both = ブロックされているサーバーを見て変更する
consent-admin-ip_blocks-read = ブロックされている IP アドレスを見る
consent-admin-ip_blocks-write = ブロックされている IP アドレスを変更する
consent-admin-ip_blocks-both = ブロックされている IP アドレスを見て変更する
consent-admin-email_domain_blocks-read = ブロックされているメールプロバイダーを見る
consent-admin-email_domain_blocks-write = ブロックされているメールプロバイダーを変更する
consent-admin-email_domain_blocks-both = ブロックされているメールプロバイダーを見て変更する
consent-admin-canonical_email_blocks-read = ブロックされているメールアドレスを見る
consent-admin-canonical_email_blocks-write = ブロックされているメールアドレスを変更する
consent-admin-canonical_email_blocks-both = ブロックされているメールアドレスを見て変更する

## 自分でコードを受け取れないアプリのためのコード

code-title = { $app } 用のコード
code-sentence = このコードをコピーして { $app } に入力してください。
code-label = コード
code-copy = コピー
code-copied = コピーしました
code-care = コードは数分間、一度だけ使えます。ほかの人には見せないでください。

## アプリへ戻る途中

return-title = { $app } に戻ります
return-sentence = 回答を { $app } に送っています。何も起こらない場合はボタンを押してください。
return-button = { $app } に進む

## あなたのアカウント

nav-overview = 概要
nav-notifications = 通知
nav-rules = すべてのルール
nav-try = メッセージで試す
nav-security = セキュリティ
nav-skip = 本文へ移動
notice-saved = 保存しました。
notice-removed = 削除しました。
notice-not-saved = ログインしていない状態になっていたため、何も保存されませんでした。もう一度お試しください。
notice-app-removed = そのアプリは、もうあなたのアカウントにアクセスできません。
pager-position = { $page } / { $pages } ページ
pager-previous = 前のページ
pager-next = 次のページ
sign-out-button = ログアウト
apps-title = アクセスを許可したアプリ
apps-none = あなたのアカウントにアクセスできるアプリはありません。
apps-removal = 取り消したアプリはすぐにアクセスできなくなります。あとでもう一度許可できます。
apps-since = { $time } から
apps-remove = アクセスを取り消す
apps-link = アクセスを許可したアプリの確認と取り消し
apps-matrix = Matrix クライアント
apps-matrix-note = パスワードでログインしたアプリです。
apps-issued-note = このサーバーの運営者が発行したアクセスです。

## Notifications

notifications-pause = すべて一時停止
notifications-on = 通知はオンです。
notifications-paused = もう一度オンにするまで、すべて一時停止しています。
notifications-paused-until = { $time }まで、すべて一時停止しています。
notifications-pause-hour = 1時間
notifications-pause-8-hours = 8時間
notifications-pause-morning = 朝 8:00 まで
notifications-pause-open = 自分でオンにするまで
notifications-resume = もう一度オンにする
notifications-utc = このページの時刻はすべて UTC で、お住まいの地域の時刻とは異なることがあります。朝 8:00 も UTC です。
notifications-devices = 端末
notifications-all-devices = すべての端末
notifications-device = これはプロファイル { $profile } の端末の設定です。すべての端末の設定より優先されます。
notifications-more-profiles = ここに表示されていない端末プロファイル：{ $count }件。
notifications-keywords = キーワード
notifications-keywords-sentence = これらの言葉を含むメッセージは通知されます。大文字と小文字は区別しません。* は任意の文字列、? は 1 文字を表します。
notifications-keywords-none = キーワードはありません。
notifications-word = 言葉
notifications-sound = 音
notifications-highlight = 強調表示
notifications-add-keyword = キーワードを追加
notifications-save = 保存
notifications-remove = 削除
notifications-subjects = 人とルーム
notifications-subjects-sentence = ミュートした人やルームは、あなたへのメンションかキーワードを含むメッセージ以外は通知しません。
notifications-subjects-none = 人やルームの設定はありません。
notifications-id = 人またはルーム
notifications-id-hint = 人の ID（例：@name:server）またはルームの ID（例：!id:server）。アプリのリンクも使えます。
notifications-choice = 通知
notifications-choice-hint = 時間が過ぎると、この項目は削除されます。
notifications-choice-notify = 常に通知
notifications-choice-mute = 変更するまでミュート
notifications-choice-mute-hour = 1時間ミュート
notifications-choice-mute-8-hours = 8時間ミュート
notifications-choice-mute-day = 1日ミュート
notifications-choice-mute-week = 1週間ミュート
notifications-add-subject = 追加
notifications-people = 人
notifications-rooms = ルーム
notifications-off = オフ
notifications-muted = ミュート中
notifications-silent = メンションもミュート中
notifications-notifies = 常に通知
notifications-until = { $time }まで
notifications-switches = そのほか
notifications-switches-sentence = あなたの設定に当てはまらないときに適用されます。
notifications-messages = メッセージ
notifications-mentions = メンション
notifications-events = 通話とルーム
notifications-switch-on = オン
notifications-switch-partly = 一部オン
notifications-switch-off = オフ
notifications-switch-one-to-one = 自分ともう 1 人だけのルームのメッセージを通知する。
notifications-switch-group = ほかのすべてのルームのメッセージを通知する。
notifications-switch-bots = ボットのメッセージは通知しない。
notifications-switch-edits = メッセージの編集は通知しない。
notifications-switch-reactions = リアクションは通知しない。
notifications-switch-mention = 誰かが自分にメンションしたら通知する。
notifications-switch-display-name = メッセージに自分の表示名が含まれていたら通知する。
notifications-switch-user-name = メッセージに自分のユーザー名が含まれていたら通知する。
notifications-switch-room-mention = 誰かが @room でルームの全員にメンションしたら通知する。
notifications-switch-call = 誰かが自分に電話をかけたら通知する。
notifications-switch-invitation = 誰かが自分をルームに招待したら通知する。
notifications-switch-upgrade = ルームが新しいルームに置き換えられたら通知する。
notifications-switch-members = 人の参加、退出、名前の変更は通知しない。
notifications-switch-servers = ルームに参加できるサーバーの変更は通知しない。
notifications-other-rules = このページに表示できないルールがあります：{ $count }件。
notifications-error-word-blank = 言葉を入力してください。
notifications-error-word-too-long = キーワードとしては長すぎます。もっと短くしてください。
notifications-error-id-blank = 人またはルームの ID を入力してください。
notifications-error-id-too-long = ID としては長すぎます。確認してください。
notifications-error-room-alias = これはルームのアドレスで、ID ではありません。ID は ! で始まり、アプリのルーム設定に表示されます。
notifications-error-person-without-server = サーバーがありません。人の ID は @name:server の形です。
notifications-error-id-invalid = これは ID ではありません。人の ID は @name:server、ルームの ID は !id:server の形です。
notifications-error-too-many = このサーバーで作成できるルールの上限（{ $count }）に達しています。先にいくつか削除してください。
notifications-error-too-large = ルールがこのサーバーの容量の上限に達しています。先にいくつか削除してください。
notifications-error-changed = { $name } は、その間に別のタブかアプリで変更されたようです。何も保存していません。ここには現在の状態が表示されています。
notifications-error-removed = { $name } は、その間に別のタブかアプリで削除されたようです。何も保存していません。
notifications-error-other = 保存できませんでした。入力内容を確認してください。

## All rules

rules-order = 上から順に調べ、最初に当てはまるルールが適用されます。
rules-first = いちばん最初
rules-master = このルールがオンの間は、何も通知されません。
rules-builtin = 組み込み
rules-until = { $time } まで
rules-everywhere = すべての端末
rules-device = プロファイル { $tag } の端末
rules-override = ほかのすべてに優先
rules-content = 言葉
rules-room = ルーム
rules-sender = 人
rules-underride = ほかに当てはまらないとき
rules-pattern = 探す言葉：{ $pattern }
rules-on = オン
rules-off = オフ
rules-notify = 通知する
rules-silent = 通知しない
rules-sound = 音
rules-highlight = 強調表示
rules-all = すべてのルールに戻る
rules-enable = オンにする
rules-disable = オフにする
rules-details = 詳細
rules-delete = 削除
rule-new-title = 新しいルール
rule-new-effect = どうするか
rule-new-effect-hint = ミュートすると、あなたへのメンション以外は通知されません。
rule-new-mute = ミュート
rule-new-highlight = 音を鳴らして強調表示
rule-new-subject = どのメッセージか
rule-new-word = この言葉を含むメッセージ
rule-new-person = この人からのメッセージ
rule-new-room = このルームのメッセージ
rule-new-value = 言葉、または人かルームの ID
rule-new-more = 一定の時間だけ、または 1 台の端末だけでミュートするには：
rule-json = ルール（JSON）
rule-json-sentence = 保存されているルールをそのまま表示しています。細かい変更はアプリからのみ行えます。
rule-delete = このルールを削除
rule-delete-effect = 削除したルールは元に戻せません。

## Try a message

try-intro = ルールがメッセージをどう扱うかを確かめられます。何も送信も保存もされません。
try-text = メッセージ
try-sender = 送信者（ユーザーID）
try-room = ルーム（ルームID）
try-members = ルームの人数
try-members-invalid = 整数を入力してください。
try-name = ルームでのあなたの表示名
try-profile = 端末のプロファイル
try-no-profile = その他の端末
try-button = 試す
try-busy = 前回の試行がまだ終わっていないか、サーバーが混み合っています。少し待ってからもう一度お試しください。
try-result = 結果
try-sentence = { $reason }、{ $outcome }。
try-notify = 通知されます
try-sound = 音付きで通知されます
try-highlight = 強調表示で通知されます
try-sound-highlight = 音と強調表示で通知されます
try-silent = 通知されません
try-because-own = 自分のメッセージのため
try-because-no-rule = 当てはまるルールがないため
try-because-paused = すべての通知を止めているため
try-because-paused-until = { $time } まですべての通知を止めているため
try-because-keyword = キーワード { $word } があるため
try-because-muted-room = このルームをミュートしているため
try-because-room = このルームのルールがあるため
try-because-muted-sender = { $sender } をミュートしているため
try-because-sender = { $sender } のルールがあるため
try-because-rule = ルール { $rule } があるため
try-because-display-name = あなたの表示名が含まれているため
try-because-user-name = あなたのユーザー名が含まれているため
try-because-one-to-one = ルームに2人しかいないため
try-because-any-message = その他すべてのメッセージ用の組み込みルールがあるため
try-because-builtin = 組み込みルール { $rule } があるため
try-ends = このルールは { $time } に終わります。
try-trace = 調べたルール
try-trace-earlier = ここに表示されていない前のルール：{ $count }件。
try-trace-matched = 当てはまり、適用されます。
try-trace-off = オフです。
try-trace-skipped = メッセージにメンション先が示されているため、飛ばしました。
try-trace-work = このメッセージに対するルールの処理量が多すぎるため、最後まで調べていません。
try-trace-value = { $key } は { $found } ですが、ルールは { $expected } を探しています。
try-trace-absent = メッセージに { $key } がありませんが、ルールは { $expected } を探しています。
try-trace-name = 本文にあなたの表示名 { $name } が含まれていません。
try-trace-no-name = 表示名が入力されていません。
try-trace-members = ルームの人数は { $count } ですが、ルールの条件は { $expected } です。
try-trace-no-members = ルームの人数が入力されていません。
try-trace-permission = 送信者がルーム全体に通知できるかどうかによりますが、ここではわかりません。
try-trace-unknown = このサーバーは条件 { $kind } に対応していません。

## Security

deletion-pending = アカウントは削除されます：{ $time }
deletion-keep = アカウントを残す
password-effect = 新しいパスワードにすると、ほかのブラウザーとすべてのアプリがログアウトします。ここではログインしたままです。
password-current = 現在のパスワード
password-new = 新しいパスワード
password-again = 新しいパスワード（もう一度）
password-button = パスワードを変更
password-wrong = パスワードが違います。
password-hint = { $count } 文字以上で、ありふれていないもの
password-different = 2 つのパスワードが一致しません。
sessions-title = ログイン中の場所
sessions-this = このブラウザー
sessions-browser = { $system } の { $browser }
sessions-unknown = 不明なブラウザー
sessions-since = { $time } にログイン
sessions-others = ほかのすべてからログアウト
used-recently = 1 時間以内に使用
used-hours = 最終使用：{ $count } 時間前
used-days = 最終使用：{ $count } 日前
used-never = まだ使われていません
tokens-count = ログイン { $count } 件
only-last-used = 最近使われた { $count } 件だけを表示しています。
data-title = あなたのデータ
data-content = アカウント、アプリ、セッション、通知ルール、アカウントの記録を 1 つのファイルにまとめます。パスワードは含まれません。
data-button = データをダウンロード
delete-title = アカウントの削除
delete-effect = アカウントは 1 日後に、アプリと通知ルールとともに削除されます。それまでは取り消せます。あなたの名前でほかの人が登録することはできません。
delete-button = アカウントを削除
delete-last-admin = このサーバーの管理者はあなただけです。先にほかの人を管理者にしてください。
notice-token-revoked = そのアプリをログアウトしました。
notice-password-changed = パスワードを変更しました。ほかのブラウザーとすべてのアプリはログアウトしました。
notice-session-ended = そのブラウザーをログアウトしました。
notice-sessions-ended = ほかのブラウザーをすべてログアウトしました。
notice-account-kept = アカウントはそのまま残ります。

## Sign up

sign-up-name = ユーザー名
sign-up-name-hint = 1～{ $count } 文字の英小文字、数字、アンダースコア。先頭と末尾以外ではピリオドとハイフンも使えます。あとから変更できません。
sign-up-email = メールアドレス
sign-up-email-hint = ログインにはこのアドレスではなく、ユーザー名を使います。
sign-up-again = パスワード（もう一度）
sign-up-agreement = このサーバーのルールを守ります。
sign-up-rules = ルールを読む
sign-up-button = アカウントを作成する
sign-up-sign-in = すでにアカウントを持っています
registration-closed-title = 新規登録はできません
registration-closed-sentence = このサーバーは新しいアカウントを受け付けていません。
registration-closed-advice = サーバーの運営者にお問い合わせください。

## Front page

front-title = ようこそ
front-sentence = どのアプリにアカウントの利用を許可し、どのメッセージで通知を受け取るかを、ここで決められます。
front-signed-in = { $account } としてログインしています。
front-account = アカウントへ移動
front-developers = 開発者の方へ
front-developers-sentence = アプリは OAuth 2.0 と、Mastodon および Matrix の API でこのサーバーに接続します。
front-api = API の説明（OpenAPI）
front-documentation = ドキュメント

## ログアウト

signed-out-title = ログアウトしました
signed-out-sentence = このページは閉じてかまいません。
signed-out-button = もう一度ログインする

## うまくいかないとき

invalid-request-title = このリクエストには応じられません
invalid-request-advice = アプリに戻ってもう一度お試しください。繰り返し起こる場合は、アプリの開発者にお知らせください。
malformed-sentence = このサーバーは送られた内容を読み取れませんでした。
denied-title = アクセスを拒否しました
denied-sentence = アプリにアクセスは許可されませんでした。あなたの情報は共有されていません。
denied-advice = このページは閉じてかまいません。
expired-title = このリクエストはもう有効ではありません
expired-sentence = すでに回答されたか、時間が経ちすぎました。
expired-advice = アプリに戻って最初からやり直してください。
forged-form-title = このフォームを確認できませんでした
forged-form-sentence = 別のタブでログインまたはログアウトしたか、ブラウザーがこのサーバーの Cookie を送らなかった可能性があります。
forged-form-advice = このサーバーの Cookie を許可し、前のページに戻ってもう一度お試しください。
rate-limited-title = リクエストが多すぎます
rate-limited-sentence = このサーバーは短い時間にあなたから多くのリクエストを受け取りました。
rate-limited-advice = 数分待ってからもう一度お試しください。
internal-title = 問題が発生しました
internal-sentence = 原因はこのサーバーにあり、あなたの操作ではありません。エラーは記録されました。
internal-advice = しばらくしてからもう一度お試しください。
busy-title = サーバーが混み合っています
busy-sentence = 現在、応答できません。あなたの操作に誤りはありません。
busy-advice = しばらくしてからもう一度お試しください。
not-found-title = ページが見つかりません
not-found-sentence = このアドレスには何もありません。
not-found-advice = アドレスを確認するか、元のアプリに戻ってください。

## 認可リクエストのエラー

oauth-error-missing = 必須パラメーター { $parameter } がありません。
oauth-error-repeated = パラメーター { $parameter } が複数回送られました。
oauth-error-not-one-value = パラメーター { $parameter } はリストではなく、一つの値でなければなりません。
oauth-error-state-too-long = パラメーター state が長すぎます（最大 { $count } バイト）。
oauth-error-too-long = パラメーターが長すぎます。
oauth-error-invalid-client = アプリが不明であるか、シークレットが正しくありません。
oauth-error-unknown-client = この client_id のアプリはありません。
oauth-error-missing-credentials = client_id と client_secret を本文または HTTP Basic 認証で送信してください。
oauth-error-two-authentications = リクエストに複数のクライアント認証方法が使われています。
oauth-error-invalid-redirect-uri = 指定されたリダイレクト URI は無効です。
oauth-error-unsupported-response-type = 認可サーバーはこの応答の種類（response_type）に対応していません。
oauth-error-unsupported-response-mode = 認可サーバーはこの応答の方式（response_mode）に対応していません。
oauth-error-malformed-scope = スコープは 1 つの空白で区切り、引用符や制御文字を含めないでください。
oauth-error-unknown-scope = スコープ { $scope } は存在しません。
oauth-error-unregistered-scope = アプリはスコープ { $scope } を登録していません。
oauth-error-admin-scope = スコープ { $scope } を許可できるのは管理者だけです。
oauth-error-invalid-challenge-method = code_challenge_method は S256 でなければなりません。
oauth-error-invalid-challenge = code_challenge は base64url 43 文字の SHA-256 ダイジェストでなければなりません。
oauth-error-access-denied = アカウントの所有者または認可サーバーがリクエストを拒否しました。
oauth-error-unsupported-grant-type = 認可サーバーはこの認可の種類（grant_type）に対応していません。
oauth-error-unauthorized-client = このアプリは、この認可の種類を使用できません。
oauth-error-invalid-grant = コードが不明か、期限切れか、取り消されたか、使用済みか、別のアプリに発行されたものです。
oauth-error-unauthorized-revocation = このトークンを取り消す権限がありません

## 登録のエラー

validation-failed = 入力内容に問題があります：{ $problems }
validation-list = { $problems }、{ $problem }

app-name-blank = アプリ名を入力してください
app-name-invalid = アプリ名が無効です
app-name-too-long = アプリ名が長すぎます（最大 { $count } 文字）
app-redirect-uri-blank = リダイレクト URI を入力してください
app-redirect-uri-forbidden = リダイレクト URI はこのサーバーで禁止されています。
app-redirect-uri-invalid = リダイレクト URI は有効な URI でなければなりません。
app-redirect-uri-relative = リダイレクト URI は絶対 URI でなければなりません。
app-redirect-uri-opaque = リダイレクト URI にはスキームが必要です。
app-redirect-uri-fragment = リダイレクト URI にフラグメントを含めることはできません。
app-redirect-uri-user-info = リダイレクト URI にユーザー名やパスワードを含めることはできません。
app-redirect-uri-wildcard = リダイレクト URI にワイルドカードを含めることはできません。
app-redirect-uri-insecure = リダイレクト URI は HTTPS でなければなりません。
app-redirect-uri-scheme = リダイレクト URI のスキームは、https、com.example.app のようにドットを含むもの、またはサーバーの運営者が許可したものでなければなりません。
app-redirect-uri-too-long = リダイレクト URI が長すぎます（最大 { $count } 文字）
app-scopes = スコープがサーバーの設定と一致しません。
app-website-invalid = アプリのウェブサイトが有効な URL ではありません
app-website-too-long = アプリのウェブサイトの URL が長すぎます（最大 { $count } 文字）
app-auth-method = アプリの認証方式（token_endpoint_auth_method）は client_secret_basic または client_secret_post にしてください（シークレットのない公開アプリには対応していません。インストールごとにアプリを登録し、専用のシークレットを取得してください）

account-error = { $field }：{ $problem }
account-field-username = ユーザー名
account-field-email = メールアドレス
account-field-password = パスワード
account-field-agreement = 利用規約
account-blank = 入力してください
account-name-invalid = 使えるのは英小文字、数字、アンダースコアと、先頭と末尾以外のピリオドとハイフンだけです
account-email-invalid = 有効なメールアドレスではありません
account-too-long = 長すぎます（最大 { $count } 文字）
account-too-short = 短すぎます（最小 { $count } 文字）
account-password-common = ありふれすぎています。ほかの人が選ばないものにしてください
account-reserved = 予約されています
account-taken = すでに使われています
account-not-accepted = 同意が必要です
